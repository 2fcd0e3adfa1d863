//! The functions of a program: native ones of the engine, and `prelude.js` around them.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use rquickjs::{Ctx, Error, Function, Object, Persistent};

use super::{Call, Limit, State, Thrown, options};
use crate::{
    functions::Functions,
    limits::{MAX_CALLS, MAX_DURATION, MAX_PRINTED_BYTES, MAX_TIMERS},
};

/// File name of the prelude in stack traces.
const PRELUDE_FILE: &str = "prelude.js";

const PRELUDE: &str = include_str!("../prelude.js");

/// Function of the prelude, kept between calls into the engine.
pub(super) type Saved = Persistent<Function<'static>>;

/// Functions that the prelude returns.
pub(super) struct Prelude {
    pub(super) settle: Saved,
    pub(super) fire: Saved,
    pub(super) watch: Saved,
    pub(super) first_unhandled: Saved,
    pub(super) describe: Saved,
}

/// Evaluates the prelude. Returns its functions, and the one that tracks rejected promises.
pub(super) fn load_prelude(
    ctx: &Ctx<'_>,
    state: &Rc<State>,
    functions: &Arc<Functions>,
) -> Result<(Prelude, Saved), Error> {
    let native = Object::new(ctx.clone())?;
    let (it, known) = (Rc::clone(state), Arc::clone(functions));
    let call = move |id: u32, index: usize, arguments: String| it.call(&known, id, index, &arguments);
    native.set("call", Function::new(ctx.clone(), call)?)?;
    let known = Arc::clone(functions);
    native.set("unknown", Function::new(ctx.clone(), move |name: String| known.unknown(&name))?)?;
    let it = Rc::clone(state);
    native.set("print", Function::new(ctx.clone(), move |text: String| it.print(&text))?)?;
    let it = Rc::clone(state);
    native.set("timer", Function::new(ctx.clone(), move |id: u32, delay: f64| it.set_timer(id, delay))?)?;
    let it = Rc::clone(state);
    let clear = move |id: u32| it.timers.borrow_mut().retain(|(_, timer)| *timer != id);
    native.set("clear", Function::new(ctx.clone(), clear)?)?;
    let it = Rc::clone(state);
    let finish = move |value: Option<String>| it.finished.borrow_mut().get_or_insert(Ok(value)).is_ok();
    native.set("finish", Function::new(ctx.clone(), finish)?)?;
    let it = Rc::clone(state);
    // An error takes precedence over a regular end.
    let fail = move |text: String| *it.finished.borrow_mut() = Some(Err(Thrown(text)));
    native.set("fail", Function::new(ctx.clone(), fail)?)?;

    let names: Vec<Vec<String>> =
        functions.iter().map(|function| vec![function.namespace.clone(), function.name.clone()]).collect();
    let prelude: Function<'_> = ctx.eval_with_options(PRELUDE, options(PRELUDE_FILE))?;
    let given: Object<'_> = prelude.call((native, names))?;
    let save =
        |name: &str| given.get::<_, Function<'_>>(name).map(|function| Persistent::save(ctx, function));
    let prelude = Prelude {
        settle: save("settle")?,
        fire: save("fire")?,
        watch: save("watch")?,
        first_unhandled: save("firstUnhandled")?,
        describe: save("describe")?,
    };
    Ok((prelude, save("track")?))
}

impl State {
    fn print(&self, text: &str) {
        let mut printed = self.printed.borrow_mut();
        printed.push(text);
        if printed.bytes() > MAX_PRINTED_BYTES && self.stopped.get().is_none() {
            self.stopped.set(Some(Limit::Printed));
        }
    }

    /// Sends a call to the runtime. Returns the reason if it cannot be made.
    fn call(&self, functions: &Functions, id: u32, index: usize, arguments: &str) -> Option<String> {
        let Some(function) = functions.get(index) else {
            return Some("there is no such function".to_owned());
        };
        let arguments = match serde_json::from_str(arguments) {
            Ok(serde_json::Value::Object(arguments)) => arguments,
            _ => {
                return Some(format!(
                    "takes its arguments as one object: {}({{name: value}}). See get_function_details.",
                    function.path()
                ));
            }
        };
        if self.calls.get() >= MAX_CALLS {
            return Some(format!(
                "not called: a program may make at most {MAX_CALLS} calls. Split the work."
            ));
        }
        // The channel has room for the maximum number of calls, so it fails only if it is closed.
        if self.link.calls.try_send(Call { id, function: function.clone(), arguments }).is_err() {
            return Some("not called: the program is being stopped.".to_owned());
        }
        self.calls.set(self.calls.get() + 1);
        self.open.set(self.open.get() + 1);
        None
    }

    fn set_timer(&self, id: u32, delay: f64) -> Option<String> {
        if self.timers_set.get() >= MAX_TIMERS {
            return Some(format!("a program may set at most {MAX_TIMERS} timers"));
        }
        self.timers_set.set(self.timers_set.get() + 1);
        let delay = Duration::from_secs_f64((delay / 1000.0).clamp(0.0, MAX_DURATION.as_secs_f64()));
        self.timers.borrow_mut().push((Instant::now() + delay, id));
        None
    }
}
