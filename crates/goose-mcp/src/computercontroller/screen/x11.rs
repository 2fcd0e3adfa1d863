//! The operations, over the protocol of X11.

use std::{thread, time::Duration};

use goose_extension::{ContentBlock, Image};
use x11rb::{
    connection::{Connection as _, RequestConnection as _},
    errors::{ConnectError, ConnectionError, ReplyError},
    protocol::{
        xproto::{
            AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, ImageFormat,
            ImageOrder, InputFocus, MapState, StackMode, Window,
        },
        xtest::ConnectionExt as _,
    },
    rust_connection::RustConnection,
    wrapper::ConnectionExt as _,
};

use super::{
    super::png::{self, Pixels},
    Output,
    keyboard::{self, Key, Keyboard},
    script::{Button, Operation, Part},
};

/// Kinds of events that are sent as if they came from a device.
const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const BUTTON_RELEASE: u8 = 5;
const MOTION: u8 = 6;

/// Pause after a change of the keyboard, which programs have to notice.
const REMAP_PAUSE: Duration = Duration::from_millis(40);

/// Maximum size of a screenshot, in pixels and as a file: the limit of model providers.
const MAX_PIXELS: usize = 64 * 1024 * 1024;
const MAX_IMAGE_BYTES: usize = 3_750_000;

/// Maximum number of windows in a list, and length of a title.
const MAX_WINDOWS: usize = 200;
const MAX_TITLE_CHARS: usize = 200;

/// Reason why an operation failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScreenError {
    #[error("no connection: {0}")]
    Connect(#[from] ConnectError),
    #[error("the connection broke: {0}")]
    Connection(#[from] ConnectionError),
    #[error("the display refuses: {0}")]
    Reply(#[from] ReplyError),
    #[error("{0}")]
    Other(String),
}

type Result<T> = std::result::Result<T, ScreenError>;

fn error<T>(text: impl Into<String>) -> Result<T> {
    Err(ScreenError::Other(text.into()))
}

/// A connection to a display.
pub(super) struct Screen {
    connection: RustConnection,
    number: usize,
}

struct WindowInfo {
    id: Window,
    title: String,
    part: Part,
}

impl Screen {
    pub(super) fn connect(display: &str) -> Result<Self> {
        let (connection, number) = RustConnection::connect(Some(display))?;
        let screen = Self { connection, number };
        match screen.connection.extension_information("XTEST")? {
            Some(_) => Ok(screen),
            None => error("it has no XTEST, so it cannot be operated"),
        }
    }

    fn root(&self) -> &x11rb::protocol::xproto::Screen {
        &self.connection.setup().roots[self.number]
    }

    /// Does one operation.
    pub(super) fn perform(&self, operation: &Operation) -> Result<Output> {
        let text = |text: String| Ok(vec![ContentBlock::text(text)]);
        match operation {
            Operation::Screenshot(part) => self.screenshot(*part),
            Operation::Windows => text(self.list()?),
            Operation::Focus(wanted) => text(self.focus(wanted)?),
            Operation::Move(x, y) => {
                self.pointer(*x, *y)?;
                text(format!("moved to {x} {y}"))
            }
            Operation::Click { button, times, at } => {
                if let Some((x, y)) = at {
                    self.pointer(*x, *y)?;
                }
                for _ in 0..*times {
                    self.fake(BUTTON_PRESS, *button as u8)?;
                    self.fake(BUTTON_RELEASE, *button as u8)?;
                }
                self.connection.sync()?;
                let verb = if matches!(button, Button::WheelUp | Button::WheelDown) {
                    "scrolled"
                } else {
                    "clicked"
                };
                text(format!("{verb} {times} times"))
            }
            Operation::Type(words) => {
                self.type_text(words)?;
                text(format!("typed {} characters", words.chars().count()))
            }
            Operation::Key(keys) => {
                self.press(keys)?;
                text(format!("pressed {}", keys.join("+")))
            }
            Operation::Wait(time) => {
                thread::sleep(*time);
                Ok(Vec::new())
            }
        }
    }

    fn fake(&self, kind: u8, detail: u8) -> Result<()> {
        self.connection.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, x11rb::NONE, 0, 0, 0)?.check()?;
        Ok(())
    }

    fn pointer(&self, x: i16, y: i16) -> Result<()> {
        let root = self.root();
        let (width, height) = (root.width_in_pixels, root.height_in_pixels);
        let is_inside = |value: i16, size: u16| u16::try_from(value).is_ok_and(|value| value < size);
        if !is_inside(x, width) || !is_inside(y, height) {
            return error(format!("{x} {y} is outside of the screen, which has {width} x {height} pixels"));
        }
        self.connection.xtest_fake_input(MOTION, 0, x11rb::CURRENT_TIME, root.root, x, y, 0)?.check()?;
        Ok(())
    }

    fn keyboard(&self) -> Result<Keyboard> {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let mapping = self.connection.get_keyboard_mapping(first, last - first + 1)?.reply()?;
        Ok(Keyboard { first, per_key: mapping.keysyms_per_keycode.into(), symbols: mapping.keysyms })
    }

    fn type_text(&self, text: &str) -> Result<()> {
        let keyboard = self.keyboard()?;
        let shift = keyboard.find(keyboard::SHIFT);
        for character in text.chars() {
            let symbol = keyboard::symbol(character);
            match (keyboard.find(symbol), shift) {
                (Some(key), Some(shift)) if key.is_shifted => {
                    self.fake(KEY_PRESS, shift.code)?;
                    self.tap(key)?;
                    self.fake(KEY_RELEASE, shift.code)?;
                }
                (Some(key), _) if !key.is_shifted => self.tap(key)?,
                _ => self.tap_remapped(&keyboard, symbol)?,
            }
        }
        self.connection.sync()?;
        Ok(())
    }

    fn tap(&self, key: Key) -> Result<()> {
        self.fake(KEY_PRESS, key.code)?;
        self.fake(KEY_RELEASE, key.code)
    }

    /// Types a character that the keyboard does not have, on a key that has none.
    fn tap_remapped(&self, keyboard: &Keyboard, symbol: u32) -> Result<()> {
        let Some(code) = keyboard.unused() else {
            return error("the keyboard has no key left for another character");
        };
        let per_key = u8::try_from(keyboard.per_key).unwrap_or(1);
        let map = |symbol: u32| -> Result<()> {
            let symbols = vec![symbol; keyboard.per_key];
            self.connection.change_keyboard_mapping(1, code, per_key, &symbols)?.check()?;
            self.connection.sync()?;
            thread::sleep(REMAP_PAUSE);
            Ok(())
        };
        map(symbol)?;
        let tapped = self.tap(Key { code, is_shifted: false });
        thread::sleep(REMAP_PAUSE);
        map(0)?;
        tapped
    }

    /// Presses keys together, and lets go of them in the other order.
    fn press(&self, names: &[String]) -> Result<()> {
        let keyboard = self.keyboard()?;
        let mut codes = Vec::new();
        for name in names {
            let Some(symbol) = keyboard::named(name) else {
                return error(format!("there is no key `{name}`"));
            };
            let Some(key) = keyboard.find(symbol) else {
                return error(format!("the keyboard has no `{name}`"));
            };
            if key.is_shifted {
                codes.extend(keyboard.find(keyboard::SHIFT).map(|shift| shift.code));
            }
            codes.push(key.code);
        }
        for code in &codes {
            self.fake(KEY_PRESS, *code)?;
        }
        for code in codes.iter().rev() {
            self.fake(KEY_RELEASE, *code)?;
        }
        self.connection.sync()?;
        Ok(())
    }

    fn windows(&self) -> Result<Vec<WindowInfo>> {
        let root = self.root().root;
        let managed = self.atom("_NET_CLIENT_LIST")?;
        let list = self.connection.get_property(false, root, managed, AtomEnum::WINDOW, 0, 1024)?.reply()?;
        let ids: Vec<Window> = match list.value32() {
            Some(ids) => ids.collect(),
            // Without a window manager, the windows are right on the screen.
            None => self.connection.query_tree(root)?.reply()?.children,
        };
        Ok(ids.into_iter().take(MAX_WINDOWS).filter_map(|id| self.window(id).ok().flatten()).collect())
    }

    /// Returns a window that is shown.
    fn window(&self, id: Window) -> Result<Option<WindowInfo>> {
        let shown = self.connection.get_window_attributes(id)?.reply()?.map_state == MapState::VIEWABLE;
        let size = self.connection.get_geometry(id)?.reply()?;
        let place = self.connection.translate_coordinates(id, self.root().root, 0, 0)?.reply()?;
        let part = Part { x: place.dst_x, y: place.dst_y, width: size.width, height: size.height };
        let modern = self.property(id, self.atom("_NET_WM_NAME")?)?;
        let title = match modern.is_empty() {
            true => self.property(id, AtomEnum::WM_NAME.into())?,
            false => modern,
        };
        Ok(shown.then_some(WindowInfo { id, title, part }))
    }

    fn property(&self, window: Window, property: u32) -> Result<String> {
        let value =
            self.connection.get_property(false, window, property, AtomEnum::ANY, 0, 256)?.reply()?.value;
        let text = String::from_utf8_lossy(&value);
        Ok(goose_fs::truncate_chars(&text, MAX_TITLE_CHARS).into_owned())
    }

    fn atom(&self, name: &str) -> Result<u32> {
        Ok(self.connection.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    fn list(&self) -> Result<String> {
        let focus = self.connection.get_input_focus()?.reply()?.focus;
        let line = |window: &WindowInfo| {
            let Part { x, y, width, height } = window.part;
            let focused = if window.id == focus { ", has the keyboard" } else { "" };
            format!("{:#x} {width}x{height} at {x} {y}{focused}: {}", window.id, window.title.escape_debug())
        };
        let lines: Vec<String> = self.windows()?.iter().map(line).collect();
        let root = self.root();
        let head = format!(
            "The screen has {}x{} pixels and {} windows.",
            root.width_in_pixels,
            root.height_in_pixels,
            lines.len()
        );
        Ok([vec![head], lines].concat().join("\n"))
    }

    fn focus(&self, wanted: &str) -> Result<String> {
        let id = wanted.strip_prefix("0x").and_then(|id| Window::from_str_radix(id, 16).ok());
        let lower = wanted.to_lowercase();
        let is_wanted = |window: &WindowInfo| match id {
            Some(id) => window.id == id,
            None => window.title.to_lowercase().contains(&lower),
        };
        let Some(window) = self.windows()?.into_iter().find(is_wanted) else {
            return error(format!("there is no window `{wanted}`; see `windows`"));
        };
        let (root, active) = (self.root().root, self.atom("_NET_ACTIVE_WINDOW")?);
        let event = ClientMessageEvent::new(32, window.id, active, [2, x11rb::CURRENT_TIME, 0, 0, 0]);
        let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT;
        self.connection.send_event(false, root, mask, event)?.check()?;
        let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.connection.configure_window(window.id, &above)?.check()?;
        self.connection.set_input_focus(InputFocus::PARENT, window.id, x11rb::CURRENT_TIME)?.check()?;
        self.connection.sync()?;
        Ok(format!("focused {:#x}: {}", window.id, window.title.escape_debug()))
    }

    fn screenshot(&self, part: Option<Part>) -> Result<Output> {
        let root = self.root();
        let (width, height) = (root.width_in_pixels, root.height_in_pixels);
        let part = part.unwrap_or(Part { x: 0, y: 0, width, height });
        let reaches = |start: i16, size: u16, limit: u16| {
            i32::from(start) < 0 || i32::from(start) + i32::from(size) > i32::from(limit)
        };
        if reaches(part.x, part.width, width) || reaches(part.y, part.height, height) {
            return error(format!("the part reaches beyond the screen, which has {width} x {height} pixels"));
        }
        let mut size = (usize::from(part.width), usize::from(part.height));
        if size.0 * size.1 > MAX_PIXELS {
            return error("the screen is too large; name a part of it");
        }
        let mut rows = self.pixels(part)?;
        let mut scale = 1;
        loop {
            let png = png::encode(size.0 as u32, size.1 as u32, Pixels::Rgb, &rows);
            let png = png.map_err(|error| ScreenError::Other(error.to_string()))?;
            if png.len() <= MAX_IMAGE_BYTES || size.0 < 2 || size.1 < 2 {
                let note =
                    if scale > 1 { format!(", shown at 1/{scale} of its size") } else { String::new() };
                let text =
                    format!("screenshot of {}x{} at {} {}{note}", part.width, part.height, part.x, part.y);
                return Ok(vec![ContentBlock::text(text), ContentBlock::from(Image::new(png, "image/png"))]);
            }
            rows = halved(&rows, size);
            size = (size.0 / 2, size.1 / 2);
            scale *= 2;
        }
    }

    /// Returns the pixels of a part of the screen, in red, green and blue.
    fn pixels(&self, part: Part) -> Result<Vec<u8>> {
        let setup = self.connection.setup();
        let root = self.root();
        let image = self.connection.get_image(
            ImageFormat::Z_PIXMAP,
            root.root,
            part.x,
            part.y,
            part.width,
            part.height,
            !0,
        )?;
        let image = image.reply()?;
        let format = setup.pixmap_formats.iter().find(|format| format.depth == image.depth);
        let mut visuals = root.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let visual = visuals.find(|visual| visual.visual_id == root.root_visual);
        let (Some(format), Some(visual)) = (format, visual) else {
            return error("its pixels are of an unknown kind");
        };
        let bytes = usize::from(format.bits_per_pixel) / 8;
        if !(2..=4).contains(&bytes) || visual.red_mask == 0 {
            return error(format!("its pixels have {} bits, which is not supported", format.bits_per_pixel));
        }
        let pad = usize::from(format.scanline_pad / 8).max(1);
        let stride = (usize::from(part.width) * bytes).next_multiple_of(pad);
        let masks = [visual.red_mask, visual.green_mask, visual.blue_mask];
        let mut rows = Vec::with_capacity(usize::from(part.width) * usize::from(part.height) * 3);
        for row in image.data.chunks(stride).take(part.height.into()) {
            for pixel in row.chunks_exact(bytes).take(part.width.into()) {
                let join = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
                let value = match setup.image_byte_order {
                    ImageOrder::LSB_FIRST => pixel.iter().rev().fold(0, join),
                    _ => pixel.iter().fold(0, join),
                };
                rows.extend(masks.map(|mask| {
                    let largest = u64::from(mask >> mask.trailing_zeros());
                    (u64::from((value & mask) >> mask.trailing_zeros()) * 255 / largest.max(1)) as u8
                }));
            }
        }
        Ok(rows)
    }
}

/// Returns an image at half of its size. Each pixel is the mean of four.
fn halved(rows: &[u8], (width, height): (usize, usize)) -> Vec<u8> {
    let at = |x: usize, y: usize, color: usize| u32::from(rows[(y * width + x) * 3 + color]);
    let mut half = Vec::with_capacity(rows.len() / 4);
    for y in 0..height / 2 {
        for x in 0..width / 2 {
            for color in 0..3 {
                let (x, y) = (x * 2, y * 2);
                let sum =
                    at(x, y, color) + at(x + 1, y, color) + at(x, y + 1, color) + at(x + 1, y + 1, color);
                half.push((sum / 4) as u8);
            }
        }
    }
    half
}
