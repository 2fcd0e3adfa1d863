//! The server on standard input and output, with all that does not belong there.

use std::{
    io::{self, BufRead as _, BufWriter, Stdout, Write},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    message::{self, Outlet, Writing},
    options::{Noise, Wire},
    server::Server,
};

/// Serves until the input ends, or for ever.
pub(super) fn serve(server: &Arc<Server>) -> anyhow::Result<()> {
    let options = &server.options;
    thread::sleep(options.start.slow);
    let noise = Noise { on: options.noise.on, flood: options.noise.flood };
    let outlet: Arc<dyn Outlet> =
        Arc::new(StandardOutput { stream: Mutex::new(BufWriter::new(io::stdout())), noise });
    if options.wire == Wire::Old {
        server.listeners.add(Arc::clone(&outlet), None);
    }
    read(server, &outlet)?;
    if options.ignore_eof {
        loop {
            thread::park();
        }
    }
    Ok(())
}

fn read(server: &Arc<Server>, outlet: &Arc<dyn Outlet>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => server.take(message, Arc::clone(outlet)),
            Err(error) => {
                let refusal = message::error(&Value::Null, message::PARSE_ERROR, &error.to_string(), None);
                outlet.message(&refusal)?;
            }
        }
        line.clear();
    }
    Ok(())
}

/// Standard output, a message on each line.
struct StandardOutput {
    stream: Mutex<BufWriter<Stdout>>,
    noise: Noise,
}

impl Outlet for StandardOutput {
    fn send(&self, writing: Writing<'_>) -> io::Result<()> {
        let mut stream = self.stream.lock();
        self.noise.write(&mut *stream)?;
        writing(&mut *stream)?;
        stream.write_all(b"\n")?;
        stream.flush()
    }
}

impl Noise {
    fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        for number in 0..self.flood {
            writeln!(output, "INFO faulty_server: line {number} of a log that belongs elsewhere")?;
        }
        if self.on {
            output.write_all(b"[info] about to answer\n\n{\"jsonrpc\":\"2.0\",\"id\":\n")?;
        }
        Ok(())
    }
}
