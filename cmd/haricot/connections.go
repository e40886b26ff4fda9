package main

import (
	"context"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/terminal"
)

// connectionsCommand lists connections.
type connectionsCommand struct {
	apiFlags
}

// Help is the second part of the help page.
func (*connectionsCommand) Help() string {
	return "The columns are the connection's number, address, process (0 where it is not known), age in seconds, what it does (producer, worker, waiting), " +
		"the tube that it uses, how many jobs it holds, the longest for how many seconds, and the tubes that it watches."
}

// Run lists them.
func (c *connectionsCommand) Run(p *process) error {
	return c.with(time.Duration(c.Timeout), func(ctx context.Context, api *apiclient.Client) error {
		all, err := api.Connections(ctx)
		if err != nil {
			return err
		}
		table := terminal.NewTable(p.stdout, terminal.Columns("#id", "address", "#pid", "#age", "does", "uses", "#holds", "#held", "watches"))
		for _, n := range all {
			if c.JSON {
				if err := terminal.WriteJSON(p.stdout, n.Raw); err != nil {
					return err
				}
				continue
			}
			table.Row(n.ID, n.Address, n.PID, wholeNumber(n.Age), does(n), n.Uses, n.HoldCount, wholeNumber(n.LongestHeld), strings.Join(n.Watches, ","))
		}
		if c.JSON {
			return nil
		}
		return table.Write(p.stdout)
	})
}

// does says in words what a connection does.
func does(n *apiclient.Connection) string {
	var words []string
	if n.Producer {
		words = append(words, "producer")
	}
	if n.Worker {
		words = append(words, "worker")
	}
	if n.Waiting {
		words = append(words, "waiting")
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}
