# frozen_string_literal: true

require 'socket'

# The server under test: its address, its process, which of the two servers it is, and its statistics read without a
# library.
module Server
  HOST, _, PORT = (ENV['HARICOT_ADDR'] || abort('HARICOT_ADDR is not set; it must name the server to test as host:port'))
                  .rpartition(':')

  module_function

  def statistic(name)
    TCPSocket.open(HOST, PORT) do |socket|
      socket.write("stats\r\nquit\r\n")
      socket.read[/^#{name}: "?(.*?)"?$/, 1]
    end
  end

  def reference?
    statistic('version').start_with?('1.')
  end

  def drain
    Process.kill('USR1', pid)
    await('draining', 'true')
  end

  # Ends drain mode; beanstalkd has no way back and would die from the signal.
  def undrain
    Process.kill('USR2', pid)
    await('draining', 'false')
  end

  # Waits until exactly that many connections are blocked in a reserve.
  def waiting(count)
    await('current-waiting', count.to_s)
  end

  # The pid that the server reports must be that of the process that was started.
  def pid
    reported = statistic('pid')
    started = ENV.fetch('HARICOT_PID', reported)
    raise "the server reports pid #{reported}, but #{started} was started" unless reported == started

    Integer(reported)
  end

  def await(field, want)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 5
    until statistic(field) == want
      raise "#{field} did not become #{want}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.005
    end
  end
end
