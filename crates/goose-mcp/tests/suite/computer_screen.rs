//! `computer_control` on a real display (Xvfb, where it is installed) with a real window.
#![cfg(target_os = "linux")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use goose_extension::ContentBlock;
use serde_json::json;
use x11rb::{
    connection::Connection as _,
    protocol::{
        Event,
        xproto::{AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, WindowClass},
    },
    rust_connection::RustConnection,
    wrapper::ConnectionExt as _,
};

use crate::{computer_support::Office, developer_support::PATIENCE};

/// A display that ends with the test.
struct Xvfb {
    child: Child,
    name: String,
}

impl Xvfb {
    /// Starts a display; `None` where there is no Xvfb.
    fn start() -> Option<Self> {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).unwrap();
        Some(Self { child, name: format!(":{}", line.trim()) })
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Something that a window was told.
#[derive(Debug, PartialEq)]
enum Told {
    Key(u32),
    Button(u8, i16, i16),
}

/// Opens a red window of 200x100 at 50 60, and reports what it is told.
fn open_window(display: &str) -> mpsc::Receiver<Told> {
    let (sender, receiver) = mpsc::channel();
    let (connection, number) = RustConnection::connect(Some(display)).unwrap();
    let screen = connection.setup().roots[number].clone();
    let window = connection.generate_id().unwrap();
    let events = EventMask::KEY_PRESS | EventMask::BUTTON_PRESS | EventMask::EXPOSURE;
    let look = CreateWindowAux::new().background_pixel(0x00FF_0000).event_mask(events).override_redirect(1);
    connection
        .create_window(0, window, screen.root, 50, 60, 200, 100, 0, WindowClass::INPUT_OUTPUT, 0, &look)
        .unwrap();
    connection
        .change_property8(PropMode::REPLACE, window, AtomEnum::WM_NAME, AtomEnum::STRING, b"A red window")
        .unwrap();
    connection.map_window(window).unwrap();
    connection.flush().unwrap();
    while !matches!(connection.wait_for_event().unwrap(), Event::Expose(_)) {}
    thread::spawn(move || {
        while let Ok(event) = connection.wait_for_event() {
            let told = match event {
                Event::KeyPress(key) => {
                    let mapping = connection.get_keyboard_mapping(key.detail, 1).unwrap().reply().unwrap();
                    let is_shifted = u16::from(key.state) & 1 == 1;
                    Told::Key(mapping.keysyms[usize::from(is_shifted)])
                }
                Event::ButtonPress(button) => Told::Button(button.detail, button.root_x, button.root_y),
                _ => continue,
            };
            if sender.send(told).is_err() {
                return;
            }
        }
    });
    receiver
}

#[tokio::test]
async fn a_window_is_seen_clicked_and_typed_into() {
    let Some(display) = Xvfb::start() else {
        println!("there is no Xvfb here; nothing was tested");
        return;
    };
    let told = open_window(&display.name);
    let office = Office::with_variables(&[("DISPLAY", &display.name)]);
    let script = "windows\nfocus red\nscreenshot\nscreenshot 50 60 10 10\nclick 70 80\nclick right 71 81\ntype aB!€\nkey Return";
    let output = office.call("computer_control", json!({ "script": script })).await.unwrap();
    let text = output.as_text();
    assert!(text.contains("200x100 at 50 60") && text.contains("A red window"), "{text}");
    assert!(text.contains("screenshot of 640x480 at 0 0"), "{text}");
    let next = || told.recv_timeout(PATIENCE).unwrap();
    assert_eq!([next(), next()], [Told::Button(1, 70, 80), Told::Button(3, 71, 81)]);
    let keys: Vec<u32> = std::iter::repeat_with(next)
        .filter_map(|told| if let Told::Key(symbol) = told { Some(symbol) } else { None })
        // Shift is a key, too.
        .filter(|symbol| *symbol != 0xFFE1)
        .take(5)
        .collect();
    assert_eq!(keys[..3], [0x61, 0x42, 0x21]);
    assert_eq!(keys[4], 0xFF0D);
    let images: Vec<Vec<u8>> = output.content.iter().filter_map(image).collect();
    assert_eq!(images.len(), 2);
    assert_eq!((size(&images[0]), size(&images[1])), ((640, 480), (10, 10)));
    assert!(
        pixels(&images[1])
            .chunks(31)
            .all(|row| row[0] == 0 && row[1..].chunks(3).all(|pixel| pixel == [255, 0, 0]))
    );
}

fn image(block: &ContentBlock) -> Option<Vec<u8>> {
    let ContentBlock::Image(image) = block else { return None };
    Some(STANDARD.decode(&image.data).unwrap())
}

fn size(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

/// The rows of a PNG with one chunk of data, each with its filter.
fn pixels(png: &[u8]) -> Vec<u8> {
    let at = png.windows(4).position(|kind| kind == b"IDAT").unwrap();
    let mut rows = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&png[at + 4..]), &mut rows).unwrap();
    rows
}

#[tokio::test]
async fn without_a_display_the_error_says_so() {
    let office = Office::new();
    let error = office.err("computer_control", json!({ "script": "screenshot" })).await;
    assert!(error.contains("DISPLAY is not set"), "{error}");
    let office = Office::with_variables(&[("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0")]);
    let error = office.err("computer_control", json!({ "script": "screenshot" })).await;
    assert!(error.contains("Wayland"), "{error}");
    let office = Office::with_variables(&[("DISPLAY", ":4711")]);
    let error = tokio::time::timeout(
        Duration::from_secs(20),
        office.err("computer_control", json!({ "script": "screenshot" })),
    );
    assert!(error.await.unwrap().contains(":4711 cannot be used"));
    let error = office.err("computer_control", json!({ "script": "screenshot\njump" })).await;
    assert!(error.contains("Line 2"), "{error}");
}
