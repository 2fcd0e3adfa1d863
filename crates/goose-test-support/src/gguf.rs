//! [`GgufWriter`]: writes the files of models, honest and otherwise.

/// A file in the making.
#[derive(Clone, Default)]
pub struct GgufWriter {
    metadata: Vec<u8>,
    keys: u64,
    tensors: Vec<Tensor>,
}

#[derive(Clone)]
struct Tensor {
    name: String,
    shape: Vec<u64>,
    kind: u32,
    bytes: Vec<u8>,
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text);
}

impl GgufWriter {
    /// A value of any kind, as its bytes.
    pub fn raw(&mut self, key: &str, kind: u32, bytes: &[u8]) -> &mut Self {
        text(&mut self.metadata, key.as_bytes());
        self.metadata.extend(kind.to_le_bytes());
        self.metadata.extend(bytes);
        self.keys += 1;
        self
    }

    /// A number.
    pub fn u32(&mut self, key: &str, value: u32) -> &mut Self {
        self.raw(key, 4, &value.to_le_bytes())
    }

    /// A number with a fraction.
    pub fn f32(&mut self, key: &str, value: f32) -> &mut Self {
        self.raw(key, 6, &value.to_le_bytes())
    }

    /// Yes or no.
    pub fn flag(&mut self, key: &str, value: bool) -> &mut Self {
        self.raw(key, 7, &[value.into()])
    }

    /// A text.
    pub fn text(&mut self, key: &str, value: &str) -> &mut Self {
        let mut bytes = Vec::new();
        text(&mut bytes, value.as_bytes());
        self.raw(key, 8, &bytes)
    }

    /// A list of texts.
    pub fn texts(&mut self, key: &str, values: &[String]) -> &mut Self {
        let mut bytes = 8_u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| text(&mut bytes, value.as_bytes()));
        self.raw(key, 9, &bytes)
    }

    /// An array of 32-bit numbers of the given kind (5: integers, 6: floats), as bits.
    pub fn words(&mut self, key: &str, kind: u32, values: &[u32]) -> &mut Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        self.raw(key, 9, &bytes)
    }

    /// A tensor of a kind, as its bytes.
    pub fn tensor(&mut self, name: &str, shape: &[usize], kind: u32, bytes: Vec<u8>) -> &mut Self {
        let shape = shape.iter().map(|size| *size as u64).collect();
        self.tensors.push(Tensor { name: name.to_owned(), shape, kind, bytes });
        self
    }

    /// The file's bytes.
    pub fn finish(&self) -> Vec<u8> {
        self.finish_with(|_, offset| offset)
    }

    /// The file's bytes, with each tensor's offset as `place` says.
    pub fn finish_with(&self, place: impl Fn(usize, u64) -> u64) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.keys.to_le_bytes());
        file.extend(&self.metadata);
        let mut offset = 0;
        for (i, tensor) in self.tensors.iter().enumerate() {
            text(&mut file, tensor.name.as_bytes());
            file.extend((tensor.shape.len() as u32).to_le_bytes());
            tensor.shape.iter().for_each(|size| file.extend(size.to_le_bytes()));
            file.extend(tensor.kind.to_le_bytes());
            file.extend(place(i, offset).to_le_bytes());
            offset = (offset + tensor.bytes.len() as u64).next_multiple_of(32);
        }
        for tensor in &self.tensors {
            file.resize(file.len().next_multiple_of(32), 0);
            file.extend(&tensor.bytes);
        }
        file
    }
}
