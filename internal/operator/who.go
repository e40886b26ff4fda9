package operator

import "context"

// whoKey is the key of a name in a context.
type whoKey struct{}

// WithWho notes in a context who is at work, for the log.
func WithWho(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// Who is the name that WithWho has noted, or "unknown".
func Who(ctx context.Context) string {
	if who, ok := ctx.Value(whoKey{}).(string); ok {
		return who
	}
	return "unknown"
}
