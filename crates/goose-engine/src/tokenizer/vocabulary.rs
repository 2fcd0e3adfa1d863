//! Tokens of a model: the bytes of each, and the lookup of a token by its bytes.

use crate::EngineError;
use crate::gguf::Gguf;

/// Maximum number of tokens, above that of any vocabulary.
const MAX_TOKENS: usize = 1 << 24;
const EMPTY: u32 = u32::MAX;

/// Role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Normal,
    Unknown,
    /// Structure that text never contains, such as the end of a turn.
    Control,
    /// Matched in text as a whole, before the text is split.
    UserDefined,
    Unused,
    /// Single byte, for characters outside of the vocabulary.
    Byte,
}

impl Role {
    fn from_id(id: i32) -> Self {
        match id {
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }
}

/// All tokens, and a hash table to find them.
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    /// End of each token in `bytes`.
    ends: Vec<u32>,
    roles: Vec<Role>,
    /// Open-addressing table of the normal tokens, by their bytes.
    table: Vec<u32>,
}

impl Vocabulary {
    /// Reads the tokens of a file. `decode` appends the bytes of a token.
    pub(super) fn read(file: &Gguf, decode: impl Fn(&[u8], Role, &mut Vec<u8>)) -> Result<Self, EngineError> {
        let texts = file
            .texts("tokenizer.ggml.tokens")
            .ok_or_else(|| EngineError::Malformed("it has no vocabulary".to_owned()))?;
        let count = texts.len();
        if count == 0 || count > MAX_TOKENS {
            return Err(EngineError::Malformed(format!("its vocabulary has {count} tokens")));
        }
        let roles: Vec<Role> = match file.integers("tokenizer.ggml.token_type") {
            Some(ids) if ids.len() == count => ids.map(Role::from_id).collect(),
            Some(_) => {
                return Err(EngineError::Malformed("its tokens and their types differ in number".to_owned()));
            }
            None => vec![Role::Normal; count],
        };
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(count);
        for (text, role) in texts.zip(&roles) {
            decode(text, *role, &mut bytes);
            let end = u32::try_from(bytes.len());
            ends.push(end.map_err(|_| EngineError::Malformed("its vocabulary is too long".to_owned()))?);
        }
        let mut vocabulary = Self { bytes, ends, roles, table: vec![EMPTY; (count * 2).next_power_of_two()] };
        for token in 0..count as u32 {
            if vocabulary.role(token) == Role::Normal {
                vocabulary.insert(token);
            }
        }
        Ok(vocabulary)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of a token; none for an unknown token.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        let token = token as usize;
        let Some(&end) = self.ends.get(token) else { return &[] };
        let start = token.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..end as usize]
    }

    pub(super) fn role(&self, token: u32) -> Role {
        self.roles.get(token as usize).copied().unwrap_or(Role::Unused)
    }

    /// Returns the normal token with these bytes.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<u32> {
        Some(self.table[self.slot(bytes)]).filter(|token| *token != EMPTY)
    }

    /// Returns the slot of the token with these bytes, or else the empty one for it.
    fn slot(&self, bytes: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash(bytes) as usize & mask;
        while self.table[slot] != EMPTY && self.bytes(self.table[slot]) != bytes {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Adds a token. Of several tokens with the same bytes, the first is found.
    fn insert(&mut self, token: u32) {
        let slot = self.slot(self.bytes(token));
        if self.table[slot] == EMPTY {
            self.table[slot] = token;
        }
    }

    /// Returns all tokens with a role.
    pub(super) fn with_role(&self, role: Role) -> impl Iterator<Item = u32> {
        (0..self.len() as u32).filter(move |token| self.role(*token) == role)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for word in words.iter().chain([&last]) {
        state = (state ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    state
}
