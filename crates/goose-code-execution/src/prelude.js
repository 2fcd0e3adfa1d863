// The global objects of a program: functions, console, timers. The engine evaluates this file before the
// program, and calls it once with its native functions and the list of functions as pairs of namespace and
// name. All limits are in the engine: a program may change anything here, and affects only itself.
(function (native, functions) {
  "use strict";
  const { stringify, parse } = JSON;
  const calls = new Map();
  const timers = new Map();
  const unhandled = new Map();
  let lastCall = 0;
  let lastTimer = 0;

  class ToolError extends Error {}
  Object.defineProperty(ToolError.prototype, "name", { value: "ToolError" });

  function invoke(index, path, args) {
    // Created before the call fails, so that its stack has the line of the caller.
    const error = new ToolError();
    return new Promise((resolve, reject) => {
      const fail = (text) => {
        error.message = `${path}: ${text}`;
        reject(error);
      };
      let json;
      try {
        json = args === undefined ? "{}" : stringify(args);
      } catch (cause) {
        return fail(`the arguments cannot be written as JSON: ${cause.message}`);
      }
      const id = ++lastCall;
      const refused = native.call(id, index, json ?? "");
      if (refused !== undefined) return fail(refused);
      calls.set(id, { resolve, fail });
    });
  }

  function makeNamespace(name) {
    const missing = new Proxy(Object.prototype, {
      get(target, key) {
        const isKnown = typeof key !== "string" || key in target || key === "then" || key === "toJSON";
        if (isKnown) return target[key];
        throw new TypeError(native.unknown(`${name}.${key}`));
      },
    });
    const namespace = Object.create(missing);
    Object.defineProperty(globalThis, name, { value: namespace, configurable: true, writable: true });
    return namespace;
  }

  const namespaces = new Map();
  functions.forEach(([namespace, name], index) => {
    if (!namespaces.has(namespace)) namespaces.set(namespace, makeNamespace(namespace));
    const path = `${namespace}.${name}`;
    const value = { [name]: (args) => invoke(index, path, args) }[name];
    Object.defineProperty(namespaces.get(namespace), name, { value, enumerable: true });
  });

  function describe(error) {
    if (!(error instanceof Error)) {
      const advice = 'Only an Error has a line: throw new Error("…").';
      return `The program threw a value that is not an Error: ${show(error)}\n${advice}`;
    }
    const causes = error.errors ?? (error.cause === undefined ? [] : [error.cause]);
    const behind = Array.from(causes).slice(0, 5).map((cause) => `\nCaused by ${describe(cause)}`);
    return `${error.name}: ${error.message}\n${error.stack ?? ""}${behind.join("")}`;
  }

  function plain(value) {
    switch (typeof value) {
      case "bigint":
        return `${value}n`;
      case "function":
        return `[function ${value.name}]`;
      case "symbol":
        return String(value);
      case "undefined":
        return "undefined";
    }
    if (value instanceof Promise) return "[a promise: use await]";
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  }

  function show(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return describe(value);
    value = plain(value);
    if (typeof value === "string") return value;
    const above = [];
    return stringify(value, function (key, value) {
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (key !== "" && value === undefined) return undefined;
      value = plain(value);
      if (typeof value !== "object" || value === null) return value;
      if (above.includes(value)) return "[circular]";
      above.push(value);
      return value;
    });
  }

  const print = (...values) => native.print(`${values.map(show).join(" ")}\n`.toWellFormed());
  const console = {};
  for (const name of ["log", "info", "debug", "warn", "error", "table", "dir"]) console[name] = print;

  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  define("console", console);
  define("setTimeout", (callback, delay, ...args) => {
    const id = ++lastTimer;
    const refused = native.timer(id, Number(delay) || 0);
    if (refused !== undefined) throw new RangeError(refused);
    timers.set(id, () => callback(...args));
    return id;
  });
  define("clearTimeout", (id) => {
    if (timers.delete(id)) native.clear(id);
  });

  const fail = (error) => native.fail(describe(error).toWellFormed());
  return {
    settle(id, isDone, isJson, value) {
      const { resolve, fail } = calls.get(id);
      calls.delete(id);
      if (isDone) resolve(isJson ? parse(value) : value);
      else fail(value);
    },
    fire(id) {
      const callback = timers.get(id);
      timers.delete(id);
      try {
        callback?.();
      } catch (error) {
        fail(error);
      }
    },
    // `isScript`: the promise is of a script, whose value is wrapped in an object.
    watch(promise, isScript, isWanted) {
      const finish = async () => {
        const value = await promise;
        const result = await (isScript ? value.value : value);
        native.finish(isWanted && result !== undefined ? show(result).toWellFormed() : undefined);
      };
      finish().catch(fail);
    },
    track(promise, reason, isHandled) {
      if (isHandled) unhandled.delete(promise);
      else unhandled.set(promise, reason);
    },
    firstUnhandled() {
      for (const reason of unhandled.values()) return describe(reason).toWellFormed();
    },
    describe: (error) => describe(error).toWellFormed(),
  };
})
