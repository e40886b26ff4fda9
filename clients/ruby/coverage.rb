# frozen_string_literal: true

# Notes every call of a method of the library's classes from the tests, or from the library itself, while it is on.
class MethodCoverage
  # The methods to be covered are those that stand in the library's files now; it defines more as it runs, one for each
  # field of statistics that it meets. Plain readers and writers of an attribute are no commands.
  def initialize(classes)
    @methods = classes.flat_map do |owner|
      owner.public_instance_methods(false).reject { |name| attribute?(owner, name) }.map { |name| [owner, name] }
    end
    @called = {}
    @trace = TracePoint.new(:call) { |point| @called[[point.defined_class, point.callee_id]] = true }
  end

  def start
    @trace.enable
  end

  # The methods, as Class#name, that nobody has called.
  def missing
    @methods.reject { |method| @called[method] }.map { |owner, name| "#{owner}##{name}" }
  end

  private

  # An accessor's line in the source is the attr_ line.
  def attribute?(owner, name)
    file, line = owner.instance_method(name).source_location
    File.readlines(file)[line - 1].match?(/^\s*attr_/)
  end
end
