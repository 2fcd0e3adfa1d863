//! Attachments of a message: the files, folders, images and resources that the user's own words name.
//!
//! `@path` attaches what exists, relative to the working folder, absolute or below `~`; so does the path of an image
//! without `@`, and `@extension:uri` for a resource. Everything else after `@` stays text. `@name` at the beginning of
//! a message that names an agent is that agent; `@./name` is the file.
//!
//! Each file passes the permissions as a call of the tool that reads files does: protected files are asked about. All
//! is read before anything is sent. Texts are for the model, and not the user's own words: they are neither a title nor
//! a reason to choose an agent.

mod words;

use std::{
    fs::read_dir,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use goose_extension::{
    CallContext, ContentBlock, Message, MessageContent, ResourceContents, Role, accepted_image_type,
    image_type, marked_file,
};

use self::words::{MARK, Word, words};
use super::{event::Failure, handle::Exchange, read_target::read_target};
use crate::{permission::Verdict, session::synthetic};

/// Maximum number of files of one message.
const MAX_FILES: usize = 20;

/// Maximum size of all texts of one message.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Maximum size of an image.
const MAX_IMAGE_BYTES: usize = 10 * 1024 * 1024;

/// Maximum size of all images of one message; services take requests of some 30 MB.
const MAX_ALL_IMAGES: usize = 20 * 1024 * 1024;

/// Maximum number of entries of a folder that are looked at.
const MAX_ENTRIES: usize = 2_000;

/// Advice where a limit is exceeded.
const ADVICE: &str = "Attach less, or leave the '@' out and let goose look at it with its tools";

/// The reason why a message cannot be sent with its attachments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// More files than a message may have.
    #[error("The message has {count} attached files; at most {MAX_FILES} are possible. {ADVICE}.")]
    TooMany {
        /// Number of files.
        count: usize,
    },
    /// More text than a message may have.
    #[error("With {path}, the attached text is larger than {} KB. {ADVICE}.", MAX_TEXT_BYTES / 1024)]
    TooMuchText {
        /// The file that exceeds the limit.
        path: String,
    },
    /// An image that is too large.
    #[error("{path} is larger than {}, the most that an image may have. Make it smaller, or show a part of it.", size(*limit))]
    ImageTooLarge {
        /// The image.
        path: String,
        /// The limit of the service, or goose's own.
        limit: usize,
    },
    /// More images than a message may have.
    #[error("With {path}, the attached images are larger than {} MB. Send them in several messages.", MAX_ALL_IMAGES >> 20)]
    TooManyImages {
        /// The image that exceeds the limit.
        path: String,
    },
    /// Neither text nor an image.
    #[error(
        "{path} is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image, so it cannot be attached. Leave the '@' out and let goose look at it with its tools."
    )]
    NotText {
        /// The file.
        path: String,
    },
    /// A file that was to be an image.
    #[error("{path} is not a PNG, JPEG, GIF or WebP image.")]
    NotImage {
        /// The file.
        path: String,
    },
    /// A missing or unreadable file.
    #[error("{path} cannot be attached: {reason}.")]
    Unreadable {
        /// The file or resource.
        path: String,
        /// Reason of the failure.
        reason: String,
    },
    /// A protected file that the user does not want to send after all.
    #[error("{path} was not attached, so the message was not sent.")]
    Refused {
        /// The file.
        path: String,
    },
    /// Images for a model or an agent that takes only text.
    #[error(
        "{reader} cannot look at images, so {path} cannot be attached. Leave it out, or use another model."
    )]
    Blind {
        /// The model or agent.
        reader: String,
        /// The image.
        path: String,
    },
    /// No model could be opened.
    #[error("{}", .0.message)]
    Model(Failure),
}

type Attached<T> = Result<T, AttachError>;

/// Words of the user, and what they attach.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttachmentRequest<'a> {
    /// The message.
    pub text: &'a str,
    /// The part of the message that the user typed. Only that is searched for attachments.
    pub typed: &'a str,
    /// Images that were named apart from the text.
    pub images: &'a [PathBuf],
}

impl AttachmentRequest<'_> {
    /// Returns true if the message may have attachments.
    pub fn may_attach(&self) -> bool {
        !self.images.is_empty() || !words(self.typed).is_empty()
    }
}

/// A message with its attachments.
#[derive(Debug)]
#[non_exhaustive]
pub struct MessageWithAttachments {
    /// The message.
    pub message: Message,
    /// A line about each attachment, for the user.
    pub attached: Vec<String>,
    /// Images that the text names and that were not attached, with the reason.
    pub left_out: Vec<String>,
}

impl Exchange {
    /// Returns the message with what it attaches. `approve` asks the user about a protected file, given its path and
    /// the reasons.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be read, exceeds a limit or is refused. The message should not be sent then.
    pub async fn attach(
        &self,
        request: AttachmentRequest<'_>,
        approve: impl AsyncFn(&str, &[String]) -> bool,
    ) -> Attached<MessageWithAttachments> {
        let text = Some(request.text).filter(|text| !text.is_empty()).map(MessageContent::text);
        let mut attachments = Attachments::new(self, approve);
        attachments.images(request.images).await?;
        let mut words = words(request.typed);
        if request.typed.trim_start().starts_with(MARK) && self.names_agent(request.text) {
            words.remove(0);
        }
        for word in &words {
            attachments.word(word).await?;
        }
        let Attachments { parts, attached, left_out, .. } = attachments;
        let message = Message::new(Role::User, text.into_iter().chain(parts));
        Ok(MessageWithAttachments { message, attached, left_out })
    }

    /// Returns true if a message begins with the name of an agent.
    fn names_agent(&self, text: &str) -> bool {
        !matches!(self.agents().mentioned(text), Ok(None))
    }
}

/// The attachments of a message while they are read.
struct Attachments<'a, A> {
    exchange: &'a Exchange,
    approve: A,
    parts: Vec<MessageContent>,
    attached: Vec<String>,
    left_out: Vec<String>,
    /// Resolved paths of the files so far.
    files: Vec<PathBuf>,
    text_bytes: usize,
    image_bytes: usize,
}

/// A file as it was read.
struct Content {
    /// The path as the user wrote it.
    path: String,
    bytes: Vec<u8>,
}

impl<'a, A: AsyncFn(&str, &[String]) -> bool> Attachments<'a, A> {
    fn new(exchange: &'a Exchange, approve: A) -> Self {
        let (parts, attached, left_out, files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { exchange, approve, parts, attached, left_out, files, text_bytes: 0, image_bytes: 0 }
    }

    /// Attaches images that are named apart from the text.
    async fn images(&mut self, images: &[PathBuf]) -> Attached<()> {
        for image in images {
            let path = image.display().to_string();
            let Some(content) = self.read(&path).await? else { continue };
            let Some(kind) = image_type(&content.bytes) else { return Err(AttachError::NotImage { path }) };
            self.image(content, kind).await?;
        }
        Ok(())
    }

    /// Attaches what a word names, if it exists.
    async fn word(&mut self, word: &Word) -> Attached<()> {
        let found = word.spellings().find_map(|path| Some((path, self.metadata(path)?)));
        match found {
            Some((path, metadata)) if !word.is_marked => match metadata.is_file() {
                true => self.image_in_text(path).await,
                false => Ok(()),
            },
            Some((path, metadata)) if metadata.is_dir() => self.folder(path).await,
            Some((path, _)) => self.file(path).await,
            None if word.is_clearly_path() || self.is_in_folder(word) => {
                Err(unreadable(&word.text, "there is no such file or folder"))
            }
            None if word.is_marked => self.resource(word.without_punctuation()).await,
            None => Ok(()),
        }
    }

    /// Returns true if a word is a path in a folder that exists, so that a file there is certainly meant.
    /// `@/components` is common in code.
    fn is_in_folder(&self, word: &Word) -> bool {
        let folder = Path::new(&word.text).parent().and_then(Path::to_str);
        let folder = folder.filter(|folder| word.is_marked && !matches!(*folder, "" | "/"));
        folder.and_then(|folder| self.metadata(folder)).is_some_and(|found| found.is_dir())
    }

    fn metadata(&self, path: &str) -> Option<std::fs::Metadata> {
        self.place(path).metadata().ok()
    }

    /// Returns the absolute path that a word means.
    fn place(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/").zip(self.exchange.permissions().home()) {
            Some((rest, home)) => home.join(rest),
            None => self.exchange.working_dir().join(path),
        }
    }

    /// Attaches the path of an image in a sentence. It may be meant for a tool, so what prevents it is no error.
    async fn image_in_text(&mut self, path: &str) -> Attached<()> {
        let Some(content) = self.read(path).await? else { return Ok(()) };
        let Some(kind) = image_type(&content.bytes) else { return Ok(()) };
        match self.image(content, kind).await {
            Err(problem @ (AttachError::Blind { .. } | AttachError::ImageTooLarge { .. })) => {
                self.left_out.push(problem.to_string());
                Ok(())
            }
            done => done,
        }
    }

    async fn file(&mut self, path: &str) -> Attached<()> {
        let Some(content) = self.read(path).await? else { return Ok(()) };
        match image_type(&content.bytes) {
            Some(kind) => self.image(content, kind).await,
            None => match text(content.bytes) {
                Some(text) => self.text(path, &text),
                None => Err(AttachError::NotText { path: path.to_owned() }),
            },
        }
    }

    /// Attaches the text files that are directly in a folder, and the names of everything else.
    async fn folder(&mut self, path: &str) -> Attached<()> {
        let names = names(&self.place(path)).map_err(|error| unreadable(path, error))?;
        let files = names.iter().filter(|name| !name.ends_with('/')).count();
        self.check_count(files)?;
        let base = path.trim_end_matches('/');
        let mut listed = Vec::new();
        for name in names {
            let file = format!("{base}/{name}");
            if name.ends_with('/') {
                listed.push(name);
            } else if let Some(content) = self.read(&file).await? {
                match text(content.bytes) {
                    Some(text) => self.text(&file, &text)?,
                    None => listed.push(format!("{name} (not text)")),
                }
            }
        }
        let others = if listed.is_empty() { "(nothing else)".to_owned() } else { listed.join("\n") };
        self.parts.push(synthetic(format!("<folder path=\"{base}/\">\n{others}\n</folder>")));
        if files == 0 {
            self.attached.push(format!("{base}/ (names only)"));
        }
        Ok(())
    }

    /// Attaches a resource: `extension:uri`.
    async fn resource(&mut self, word: &str) -> Attached<()> {
        let Some((extension, uri)) = word.split_once(':').filter(|(_, uri)| uri.contains(':')) else {
            return Ok(());
        };
        let extensions = self.exchange.extensions();
        let is_known = extensions.names().iter().any(|name| name == extension);
        if !is_known || self.files.iter().any(|file| file.as_os_str() == word) {
            return Ok(());
        }
        let context = CallContext::new().with_working_dir(self.exchange.working_dir());
        let contents = extensions.read_resource(uri, Some(extension), &context).await;
        for content in contents.map_err(|error| unreadable(word, error))? {
            self.check_count(1)?;
            match content {
                ResourceContents::TextResourceContents { text, .. } => self.text(word, &text)?,
                ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                    let kind = mime_type.as_deref().and_then(accepted_image_type);
                    let bytes = BASE64.decode(blob).ok();
                    let Some((kind, bytes)) = kind.zip(bytes) else {
                        return Err(AttachError::NotText { path: word.to_owned() });
                    };
                    self.image(Content { path: word.to_owned(), bytes }, kind).await?;
                }
                _ => {}
            }
            self.files.push(PathBuf::from(word));
        }
        Ok(())
    }

    fn check_count(&self, more: usize) -> Attached<()> {
        let count = self.files.len() + more;
        if count > MAX_FILES { Err(AttachError::TooMany { count }) } else { Ok(()) }
    }

    /// Reads a file that the permissions allow. `None` if the message has it already.
    async fn read(&mut self, path: &str) -> Attached<Option<Content>> {
        let permissions = self.exchange.permissions();
        let judgement = permissions.attached_file(path, self.exchange.working_dir());
        match judgement.verdict {
            Verdict::Allow => {}
            Verdict::Deny { reason } => return Err(unreadable(path, reason)),
            Verdict::Ask { reasons, .. } => {
                if !(self.approve)(path, &reasons).await {
                    return Err(AttachError::Refused { path: path.to_owned() });
                }
            }
        }
        let judged = judgement.files.into_iter().next();
        let judged = judged.ok_or_else(|| unreadable(path, "it is not clear where the path leads"))?;
        let target = judged.target.map_err(|reason| unreadable(path, reason))?;
        if self.files.contains(&target.path) {
            return Ok(None);
        }
        self.check_count(1)?;
        self.files.push(target.path.clone());
        let read = tokio::task::spawn_blocking(move || read_target(&target, MAX_IMAGE_BYTES as u64)).await;
        let bytes = read.map_err(|error| unreadable(path, error))?;
        let bytes = bytes.map_err(|error| unreadable(path, error))?;
        Ok(Some(Content { path: path.to_owned(), bytes }))
    }

    fn text(&mut self, path: &str, text: &str) -> Attached<()> {
        self.text_bytes += text.len();
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(AttachError::TooMuchText { path: path.to_owned() });
        }
        self.parts.push(synthetic(marked_file(path, text.trim_end_matches('\n'))));
        self.attached.push(format!("{path} ({})", size(text.len())));
        Ok(())
    }

    async fn image(&mut self, content: Content, kind: &'static str) -> Attached<()> {
        let Content { path, bytes } = content;
        let limit = self.image_limit(&path).await?;
        if bytes.len() > limit {
            return Err(AttachError::ImageTooLarge { path, limit });
        }
        self.image_bytes += bytes.len();
        if self.image_bytes > MAX_ALL_IMAGES {
            return Err(AttachError::TooManyImages { path });
        }
        self.parts.push(synthetic(format!("<image path=\"{path}\"/>")));
        self.parts.push(MessageContent::Block(ContentBlock::image(BASE64.encode(&bytes), kind)));
        self.attached.push(format!("{path} (image, {})", size(bytes.len())));
        Ok(())
    }

    /// Returns the largest image that the model takes, in bytes.
    async fn image_limit(&self, path: &str) -> Attached<usize> {
        let blind = |reader: String| AttachError::Blind { reader, path: path.to_owned() };
        let agent = self.exchange.agent();
        if agent.external.is_some() {
            return Err(blind(format!("The agent {}", agent.manifest.name)));
        }
        let models = &self.exchange.context.models;
        models.open().await.map_err(AttachError::Model)?;
        let (model, _) = models.pair();
        if !model.model().sees_images {
            return Err(blind(model.model().name.clone()));
        }
        Ok((model.max_image_bytes() / 4 * 3).min(MAX_IMAGE_BYTES))
    }
}

fn unreadable(path: &str, reason: impl ToString) -> AttachError {
    AttachError::Unreadable { path: path.to_owned(), reason: reason.to_string() }
}

/// Returns the text of a file, without a byte order mark; `None` if it is not text.
fn text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Returns the names in a folder in order, folders with a `/` at the end. Hidden ones are left out.
fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in read_dir(folder)?.take(MAX_ENTRIES) {
        let entry = entry?;
        let Ok(mut name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            name.push('/');
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}

/// Formats a size for people.
fn size(bytes: usize) -> String {
    const MB: usize = 1024 * 1024;
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        bytes if bytes % MB == 0 => format!("{} MB", bytes / MB),
        _ => format!("{} KB", bytes.div_ceil(1_024)),
    }
}
