'use strict';
// Which commands of a library a suite has used.

const assert = require('node:assert/strict');

// Coverage hands out stand-ins for a library's objects that note the name of every method called through them.
class Coverage {
  #called = new Set();

  // over returns an object that behaves as the target does, with the target itself as `this` of its methods.
  over(target) {
    return new Proxy(target, {
      get: (object, name) => {
        const value = object[name];
        if (typeof value !== 'function') return value;
        return (...args) => {
          this.#called.add(name);
          return value.apply(object, args);
        };
      },
    });
  }

  // complete fails when the target has a method that was never called and is not in the list of those that are no
  // commands, or when that list names something the library does not have.
  complete(target, noCommands) {
    const methods = methodsOf(target);
    assert.deepEqual(noCommands.filter((name) => !methods.has(name)), [], 'listed, but not in the library');
    const missing = [...methods].filter((name) => !this.#called.has(name) && !noCommands.includes(name));
    assert.deepEqual(missing, [], 'commands that no test uses');
  }
}

// methodsOf lists the functions of an object: its own and those of its library's prototypes, not Node's.
function methodsOf(target) {
  const names = new Set();
  for (let o = target; o && o !== Object.prototype && o !== require('node:events').prototype; o = Object.getPrototypeOf(o)) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(o))) {
      if (typeof property.value === 'function' && name !== 'constructor') names.add(name);
    }
  }
  return names;
}

module.exports = { Coverage };
