//! [`ModelServer`]: a model that says what a script tells it to, on loopback, over the three wires that goose speaks:
//! OpenAI chat, OpenAI Responses and Anthropic. It streams as these services do, and fails as they do.
//!
//! - [`Turn`]: one answer, or one way to fail; [`Asked`]: one request, as it came;
//! - `chat`, `responses`, `anthropic`: a turn as the frames of each wire; `serve`: the HTTP around it.

mod anthropic;
mod asked;
mod chat;
mod responses;
mod serve;
mod turn;

use std::{collections::VecDeque, net::SocketAddr, sync::Arc, thread::JoinHandle, time::Instant};

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use self::{
    asked::{Asked, Wire},
    turn::Turn,
};

type Script = Box<dyn FnMut(&Asked) -> Turn + Send>;

/// A scripted model server on a port of its own. It lives on a thread of its own and ends when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) struct State {
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
}

impl State {
    fn answer(&self, mut asked: Asked) -> Turn {
        let turn = self.script.lock()(&asked);
        asked.answered = Instant::now();
        self.asked.lock().push(asked);
        turn
    }
}

impl ModelServer {
    /// Answers the requests with these turns, in order. A request too many is answered with status 500, which tests
    /// notice by [`asked`](Self::asked).
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn scripted(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<Self> {
        let mut turns: VecDeque<Turn> = turns.into_iter().collect();
        Self::answering(move |_| {
            turns.pop_front().unwrap_or_else(|| Turn::status(500, "The script has no more turns."))
        })
    }

    /// Answers each request with what a function makes of it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn answering(script: impl FnMut(&Asked) -> Turn + Send + 'static) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port for a model server")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { script: Mutex::new(Box::new(script)), asked: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn({
            let state = Arc::clone(&state);
            move || serve::run(listener, state, stopped)
        });
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address for `OPENAI_HOST` and `ANTHROPIC_HOST`: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the script has been printed by then.
            let _ = thread.join();
        }
    }
}
