//! Codes of simple fonts as characters.

use encoding_rs::{MACINTOSH, WINDOWS_1252};

/// Names of the characters from 0x20 to 0x7E.
const ASCII: &str = "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma \
hyphen period slash zero one two three four five six seven eight nine colon semicolon less equal greater question at \
A B C D E F G H I J K L M N O P Q R S T U V W X Y Z bracketleft backslash bracketright asciicircum underscore grave \
a b c d e f g h i j k l m n o p q r s t u v w x y z braceleft bar braceright asciitilde";

/// Names of the characters from 0xA1 to 0xFF.
const LATIN: &str = "exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft \
logicalnot softhyphen registered macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered \
cedilla onesuperior ordmasculine guillemotright onequarter onehalf threequarters questiondown Agrave Aacute \
Acircumflex Atilde Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex \
Idieresis Eth Ntilde Ograve Oacute Ocircumflex Otilde Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis \
Yacute Thorn germandbls agrave aacute acircumflex atilde adieresis aring ae ccedilla egrave eacute ecircumflex \
edieresis igrave iacute icircumflex idieresis eth ntilde ograve oacute ocircumflex otilde odieresis divide oslash \
ugrave uacute ucircumflex udieresis yacute thorn ydieresis";

/// Names of other characters.
const OTHERS: [(&str, &str); 44] = [
    ("quoteleft", "‘"),
    ("quoteright", "’"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quotesinglbase", "‚"),
    ("quotedblbase", "„"),
    ("guilsinglleft", "‹"),
    ("guilsinglright", "›"),
    ("endash", "–"),
    ("emdash", "—"),
    ("bullet", "•"),
    ("ellipsis", "…"),
    ("dagger", "†"),
    ("daggerdbl", "‡"),
    ("perthousand", "‰"),
    ("trademark", "™"),
    ("Euro", "€"),
    ("florin", "ƒ"),
    ("fraction", "⁄"),
    ("minus", "−"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("f_i", "fi"),
    ("f_l", "fl"),
    ("f_f", "ff"),
    ("OE", "Œ"),
    ("oe", "œ"),
    ("Scaron", "Š"),
    ("scaron", "š"),
    ("Zcaron", "Ž"),
    ("zcaron", "ž"),
    ("Ydieresis", "Ÿ"),
    ("Lslash", "Ł"),
    ("lslash", "ł"),
    ("dotlessi", "ı"),
    ("circumflex", "ˆ"),
    ("tilde", "˜"),
    ("nbspace", " "),
    ("nonbreakingspace", " "),
    ("sfthyphen", "-"),
    ("middot", "·"),
];

/// Characters in which the standard encoding differs from Windows-1252 below 0x80.
const STANDARD_LOW: [(u8, &str); 2] = [(0x27, "’"), (0x60, "‘")];

/// Characters of the standard encoding from 0xA1 on.
const STANDARD_HIGH: [(u8, &str); 38] = [
    (0xA1, "¡"),
    (0xA2, "¢"),
    (0xA3, "£"),
    (0xA4, "⁄"),
    (0xA5, "¥"),
    (0xA6, "ƒ"),
    (0xA7, "§"),
    (0xA8, "¤"),
    (0xA9, "'"),
    (0xAA, "“"),
    (0xAB, "«"),
    (0xAC, "‹"),
    (0xAD, "›"),
    (0xAE, "fi"),
    (0xAF, "fl"),
    (0xB1, "–"),
    (0xB2, "†"),
    (0xB3, "‡"),
    (0xB4, "·"),
    (0xB6, "¶"),
    (0xB7, "•"),
    (0xB8, "‚"),
    (0xB9, "„"),
    (0xBA, "”"),
    (0xBB, "»"),
    (0xBC, "…"),
    (0xBD, "‰"),
    (0xBF, "¿"),
    (0xD0, "—"),
    (0xE1, "Æ"),
    (0xE3, "ª"),
    (0xE8, "Ł"),
    (0xE9, "Ø"),
    (0xEA, "Œ"),
    (0xEB, "º"),
    (0xF1, "æ"),
    (0xFA, "œ"),
    (0xFB, "ß"),
];

/// Returns the characters of an encoding, by code.
pub(super) fn table(name: Option<&str>) -> Vec<String> {
    let codes = || (0..=255_u8).map(|code| [code]);
    let decode = |encoding: &'static encoding_rs::Encoding| -> Vec<String> {
        codes().map(|code| encoding.decode_without_bom_handling(&code).0.into_owned()).collect()
    };
    match name {
        Some("WinAnsiEncoding") => decode(WINDOWS_1252),
        Some("MacRomanEncoding") => decode(MACINTOSH),
        _ => {
            let mut table = decode(WINDOWS_1252);
            for code in 0x7F..=0xFF {
                table[code].clear();
            }
            for (code, text) in STANDARD_LOW.into_iter().chain(STANDARD_HIGH) {
                text.clone_into(&mut table[usize::from(code)]);
            }
            table
        }
    }
}

/// Returns the characters that a name of a glyph stands for.
pub(super) fn glyph(name: &str) -> Option<String> {
    let name = name.split('.').next().unwrap_or_default();
    let hex = |digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?).map(String::from);
    if let Some((_, text)) = OTHERS.iter().find(|(known, _)| *known == name) {
        return Some((*text).to_owned());
    }
    let at = |names: &str| names.split_whitespace().position(|known| known == name);
    let code = at(ASCII).map(|index| index + 0x20).or_else(|| at(LATIN).map(|index| index + 0xA1));
    if let Some(code) = code {
        return char::from_u32(u32::try_from(code).ok()?).map(String::from);
    }
    if let Some(digits) = name.strip_prefix("uni") {
        return hex(digits.get(..4)?);
    }
    name.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len())).and_then(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_have_characters() {
        for (name, expected) in [
            ("A", Some("A")),
            ("germandbls", Some("ß")),
            ("ydieresis", Some("ÿ")),
            ("asciitilde", Some("~")),
            ("uni20AC", Some("€")),
            ("u1F600", Some("😀")),
            ("fi", Some("fi")),
            ("a.sc", Some("a")),
            ("g123", None),
        ] {
            assert_eq!(glyph(name).as_deref(), expected, "{name}");
        }
    }
}
