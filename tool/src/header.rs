//! The text of an .npy header: a Python dictionary of three keys, and NumPy's names of element types.
//!
//! Reads what NumPy reads of what programs write. Knows the text alone; `npy.rs` knows the file around it.

use std::fmt;

use wgreduce::DType;

/// What every .npy file begins with.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// What a header says.
#[derive(Debug, PartialEq)]
pub struct Text {
    pub descr: String,
    pub fortran: bool,
    pub shape: Vec<u64>,
}

impl Text {
    /// Reads a header. `longs`: whether `2L` is a number, as in Python 2, whose files have the versions 1 and 2.
    pub fn parse(text: &[u8], longs: bool) -> Result<Text, String> {
        let mut reader = Reader { text, at: 0, longs };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        reader.take(b'{')?;
        while !reader.takes(b'}') {
            let key = reader.string("a key in quotes")?;
            reader.take(b':')?;
            match key.as_str() {
                "descr" => descr = Some(reader.descr()?),
                "fortran_order" => fortran = Some(reader.truth()?),
                "shape" => shape = Some(reader.shape()?),
                other => return Err(malformed(format_args!("no header has the key {other:?}"))),
            }
            if !reader.takes(b',') {
                reader.take(b'}')?;
                break;
            }
        }
        if reader.next().is_some() {
            return Err(reader.wanted("its end"));
        }
        let missing = |key| move || malformed(format_args!("it has no {key}"));
        Ok(Text {
            descr: descr.ok_or_else(missing("descr"))?,
            fortran: fortran.ok_or_else(missing("fortran_order"))?,
            shape: shape.ok_or_else(missing("shape"))?,
        })
    }

    /// The element type, and whether its bytes are in big-endian order. `wanted` must be the file's; bfloat16,
    /// which NumPy lacks, reads raw `V2`.
    pub fn element_type(&self, wanted: Option<DType>) -> Result<(DType, bool), String> {
        let descr = self.descr.as_str();
        let ordered = descr.strip_prefix(['<', '>', '=', '|']);
        let code = ordered.unwrap_or(descr);
        // Orders are of codes only.
        let named = || named(descr).filter(|_| ordered.is_none());
        let Some(dtype) = coded(code).or_else(named) else {
            return Err(foreign(descr.escape_debug()));
        };
        match wanted {
            None if code == "V2" => Err(format!(
                "holds raw {descr}: with --dtype bfloat16 it reads as that"
            )),
            Some(wanted) if wanted != dtype => {
                Err(format!("holds {dtype}, not {wanted} as --dtype says"))
            }
            _ => Ok((dtype, descr.starts_with('>'))),
        }
    }
}

/// The header of a tensor, with what is before it in a file.
pub fn written(dtype: DType, shape: &[u64], fortran: bool) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = match dims.as_slice() {
        [one] => format!("({one},)"),
        dims => format!("({})", dims.join(", ")),
    };
    let code = type_string(dtype);
    let dict = format!("{{'descr': '{code}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    // The data begins at a multiple of 64, after a newline.
    let length = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let mut header = [MAGIC, &[1, 0]].concat();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{dict:<0$}\n", length - 1).bytes());
    header
}

fn type_string(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool => "|b1",
        // NumPy has no bfloat16; ml_dtypes, which adds one, writes it so.
        _ => "<V2",
    }
}

/// C's `long`.
const LONG: [DType; 2] = match cfg!(windows) {
    true => [DType::I32, DType::U32],
    false => [DType::I64, DType::U64],
};

/// NumPy's codes, without their byte order.
fn coded(code: &str) -> Option<DType> {
    Some(match code {
        "?" | "b1" => DType::Bool,
        "b" | "i1" => DType::I8,
        "h" | "i2" => DType::I16,
        "i" | "i4" => DType::I32,
        "q" | "n" | "p" | "i8" => DType::I64,
        "l" => LONG[0],
        "B" | "u1" => DType::U8,
        "H" | "u2" => DType::U16,
        "I" | "u4" => DType::U32,
        "Q" | "N" | "P" | "u8" => DType::U64,
        "L" => LONG[1],
        "e" | "f2" => DType::F16,
        "f" | "f4" => DType::F32,
        "d" | "f8" => DType::F64,
        "V2" => DType::BF16,
        _ => return None,
    })
}

/// NumPy's names.
fn named(name: &str) -> Option<DType> {
    Some(match name {
        "bool_" => DType::Bool,
        "byte" => DType::I8,
        "short" => DType::I16,
        "intc" => DType::I32,
        "int" | "int_" | "intp" | "longlong" => DType::I64,
        "long" => LONG[0],
        "ubyte" => DType::U8,
        "ushort" => DType::U16,
        "uintc" => DType::U32,
        "uint" | "uintp" | "ulonglong" => DType::U64,
        "ulong" => LONG[1],
        "half" => DType::F16,
        "single" => DType::F32,
        "double" | "float" => DType::F64,
        _ => return DType::ALL.into_iter().find(|t| t.name() == name),
    })
}

fn foreign(found: impl fmt::Display) -> String {
    let names = DType::ALL.map(DType::name).join(", ");
    format!("holds {found}; what can be read is {names}")
}

fn malformed(why: impl fmt::Display) -> String {
    format!("has a malformed header: {why}")
}

/// A place in the text.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    longs: bool,
}

impl Reader<'_> {
    /// The next byte after white space.
    fn next(&mut self) -> Option<u8> {
        let white = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c');
        self.at += self.text[self.at..].iter().take_while(|b| white(b)).count();
        self.text.get(self.at).copied()
    }

    /// Takes the next byte if it is this one.
    fn takes(&mut self, byte: u8) -> bool {
        let is = self.next() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn take(&mut self, byte: u8) -> Result<(), String> {
        match self.takes(byte) {
            true => Ok(()),
            false => Err(self.wanted(format_args!("{:?}", char::from(byte)))),
        }
    }

    fn wanted(&mut self, what: impl fmt::Display) -> String {
        let at = self.at;
        malformed(match self.next() {
            None => format!("it ends at byte {at}, where {what} is wanted"),
            Some(byte) => format!(
                "at byte {} {what} is wanted, not {:?}",
                self.at,
                char::from(byte)
            ),
        })
    }

    /// A text in quotes.
    fn string(&mut self, what: &str) -> Result<String, String> {
        if let Some(b'u' | b'U' | b'r' | b'R') = self.next() {
            self.at += 1;
        }
        let quote = match self.text.get(self.at) {
            Some(&quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.wanted(what)),
        };
        let rest = &self.text[self.at + 1..];
        let odd = |b: &u8| [quote, b'\\', b'\n'].contains(b);
        match rest.iter().position(odd) {
            Some(end) if rest[end] == quote => {
                self.at += end + 2;
                Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
            }
            Some(end) => {
                self.at += 1 + end;
                Err(self.wanted("a closing quote"))
            }
            None => Err(malformed(format_args!(
                "the quote at byte {} is not closed",
                self.at
            ))),
        }
    }

    fn descr(&mut self) -> Result<String, String> {
        match self.next() {
            Some(b'[' | b'(' | b'{') => Err(foreign("a structured type")),
            _ => self.string("a type in quotes"),
        }
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.next();
        for (word, truth) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(truth);
            }
        }
        Err(self.wanted("True or False"))
    }

    /// A tuple of numbers.
    fn shape(&mut self) -> Result<Vec<u64>, String> {
        self.take(b'(')?;
        let (mut dims, mut comma) = (Vec::new(), false);
        while !self.takes(b')') {
            dims.push(self.dimension()?);
            comma = self.takes(b',');
            if !comma {
                self.take(b')')?;
                break;
            }
        }
        match dims.as_slice() {
            // Python has it as a number in brackets.
            [one] if !comma => Err(malformed(format_args!(
                "the shape ({one}) is no tuple, which is written ({one},)"
            ))),
            _ => Ok(dims),
        }
    }

    fn dimension(&mut self) -> Result<u64, String> {
        let negative = self.next() == Some(b'-');
        if let Some(b'-' | b'+') = self.next() {
            self.at += 1;
        }
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let digits = String::from_utf8_lossy(&rest[..length]).into_owned();
        if digits.is_empty() {
            return Err(self.wanted("a dimension"));
        }
        self.at += length;
        if self.longs {
            self.takes(b'L');
        }
        let refused = |why: &str| malformed(format_args!("the dimension {digits} {why}"));
        match digits.parse() {
            Ok(1..) if negative => Err(refused("is negative")),
            Ok(1..) if digits.starts_with('0') => Err(refused("begins with 0")),
            Ok(size) => Ok(size),
            Err(_) => Err(refused("is impossible")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(descr: &str, shape: &str) -> String {
        format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
    }

    fn parse(text: &str) -> Result<Text, String> {
        Text::parse(text.as_bytes(), true)
    }

    /// As NumPy 2.4 reads them.
    #[test]
    fn types_are_named_as_numpy_names_them() {
        use DType::*;
        let of = |descr: &str| {
            let text = parse(&header(&format!("'{descr}'"), "()")).expect("a header");
            text.element_type(None)
        };
        for (codes, dtype) in [
            ("? b1", Bool),
            ("b i1", I8),
            ("h i2", I16),
            ("i i4", I32),
            ("q n p i8", I64),
            ("B u1", U8),
            ("H u2", U16),
            ("I u4", U32),
            ("Q N P u8", U64),
            ("e f2", F16),
            ("f f4", F32),
            ("d f8", F64),
        ] {
            for code in codes.split(' ') {
                for order in ["", "<", "=", "|", ">"] {
                    let found = of(&format!("{order}{code}"));
                    assert_eq!(found, Ok((dtype, order == ">")), "{order}{code}");
                }
            }
        }
        for (names, dtype) in [
            ("bool bool_", Bool),
            ("int8 byte", I8),
            ("int16 short", I16),
            ("int32 intc", I32),
            ("int64 int int_ intp longlong", I64),
            ("uint8 ubyte", U8),
            ("uint16 ushort", U16),
            ("uint32 uintc", U32),
            ("uint64 uint uintp ulonglong", U64),
            ("float16 half", F16),
            ("float32 single", F32),
            ("float64 double float", F64),
        ] {
            for name in names.split(' ') {
                assert_eq!(of(name), Ok((dtype, false)), "{name}");
                assert!(of(&format!("<{name}")).is_err(), "{name} with an order");
            }
        }
        for code in "i16 f1 f16 g ?1 B1 h2 d8 f4_ i3 b2 e2 Float32 bool8 uint_ float_ <<f4 < c8 O U3 M8 V4 f4,f4"
            .split(' ')
            .chain(["", " f4", "f4 ", "float 32"])
        {
            let told = of(code).expect_err(code);
            assert!(told.starts_with(&format!("holds {code}; what can be")), "{told}");
        }
    }

    #[test]
    fn raw_pairs_of_bytes_are_bfloat16_if_that_is_said() {
        for code in ["V2", "<V2", "|V2", "=V2"] {
            let text = parse(&header(&format!("'{code}'"), "()")).expect("a header");
            let found = text.element_type(Some(DType::BF16));
            assert_eq!(found, Ok((DType::BF16, false)));
            let told = text.element_type(None).expect_err(code);
            assert!(told.contains("--dtype bfloat16"), "{told}");
            let told = text.element_type(Some(DType::F16)).expect_err(code);
            assert_eq!(told, "holds bfloat16, not float16 as --dtype says");
        }
    }

    /// As NumPy 2.4 reads them.
    #[test]
    fn shapes_are_tuples_of_python_3_and_2() {
        for (shape, dims) in [
            ("()", &[][..]),
            ("(2,)", &[2]),
            ("(2, 3)", &[2, 3]),
            ("( 2 ,\n3, )", &[2, 3]),
            ("(2L, 3L)", &[2, 3]),
            ("(2 L,)", &[2]),
            ("(+2, 0, 00)", &[2, 0, 0]),
        ] {
            let text = parse(&header("'f4'", shape));
            assert_eq!(text.map(|t| t.shape).as_deref(), Ok(dims), "{shape}");
        }
        let longs = Text::parse(header("'f4'", "(2L, 3L)").as_bytes(), false);
        let told = longs.expect_err("a number of Python 2 in version 3");
        let why = "at byte 51 ')' is wanted, not 'L'";
        assert!(told.ends_with(why), "{told}");
        for (shape, why) in [
            ("(2)", "the shape (2) is no tuple, which is written (2,)"),
            ("[2]", "at byte 49 '(' is wanted, not '['"),
            ("2", "at byte 49 '(' is wanted, not '2'"),
            ("(,)", "at byte 50 a dimension is wanted, not ','"),
            ("((((1))))", "at byte 50 a dimension is wanted, not '('"),
            ("(2,,3)", "a dimension is wanted, not ','"),
            ("(2 3)", "at byte 52 ')' is wanted, not '3'"),
            ("(2.0,)", "at byte 51 ')' is wanted, not '.'"),
            ("(--2,)", "a dimension is wanted, not '-'"),
            ("(2l,)", "')' is wanted, not 'l'"),
            ("(-2,)", "the dimension 2 is negative"),
            ("(02,)", "the dimension 02 begins with 0"),
            ("(18446744073709551616,)", "551616 is impossible"),
            ("(2,", "at byte 52 a dimension is wanted, not ','"),
        ] {
            let told = parse(&header("'f4'", shape)).expect_err(shape);
            assert!(told.starts_with("has a malformed header: "), "{told}");
            assert!(told.ends_with(why), "{shape}: {told}");
        }
    }

    #[test]
    fn dictionaries_are_read_as_python_reads_them() {
        let plain = "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }";
        let right = parse(plain).expect("a header");
        assert!(right.fortran && right.descr == "<f4" && right.shape == [3]);
        for same in [
            format!("  \t\n{plain}   \n"),
            plain.replace('\'', "\""),
            plain.replace(", }", "}"),
            plain.replace(": ", ":"),
            plain.replace(' ', "\r\n\x0c"),
            plain.replace("'descr'", "u'descr'"),
            plain.replace("'<f4'", "r'<f4'"),
            "{'shape': (3,), 'fortran_order': True, 'descr': '<f4'}".into(),
            // The last value of a key counts.
            plain.replace("{", "{'descr': '<f8', "),
        ] {
            assert_eq!(parse(&same).as_ref(), Ok(&right), "{same}");
        }
        // What is replaced, by what, and why that is wrong.
        for (part, by, why) in [
            (plain, "", "it ends at byte 0, where '{' is wanted"),
            (plain, "{'descr", "the quote at byte 1 is not closed"),
            ("}", "", "where a key in quotes is wanted"),
            ("}", "} x", "at byte 57 its end is wanted, not 'x'"),
            ("}", "}\0", "its end is wanted, not '\\0'"),
            ("4',", "4'", "at byte 16 '}' is wanted, not '\\''"),
            ("4'", "4", "'}' is wanted, not 'f'"),
            ("<f4", "<f4\n", "a closing quote is wanted, not '\\''"),
            ("<f4", "\\x664", "a closing quote is wanted, not '\\\\'"),
            ("True", "true", "True or False is wanted, not 't'"),
            ("True", "1", "True or False is wanted, not '1'"),
            ("'<f4'", "None", "a type in quotes is wanted, not 'N'"),
            ("'descr': '<f4', ", "", "it has no descr"),
            ("'shape': (3,), ", "", "it has no shape"),
            ("'fortran_order': True, ", "", "it has no fortran_order"),
            ("shape", "form", "no header has the key \"form\""),
        ] {
            let wrong = plain.replace(part, by);
            let told = parse(&wrong).expect_err(&wrong);
            assert!(told.starts_with("has a malformed header: "), "{told}");
            assert!(told.ends_with(why), "{wrong}: {told}");
        }
        let told = parse(&header("[('a', '<f4')]", "()")).expect_err("a structured type");
        assert!(told.starts_with("holds a structured type; what"), "{told}");
    }

    #[test]
    fn what_is_written_is_numpys() {
        for (shape, text) in [(&[][..], "()"), (&[3], "(3,)"), (&[2, 3], "(2, 3)")] {
            let header = written(DType::F32, shape, true);
            assert_eq!(header.len() % 64, 0);
            let length = usize::from(u16::from_le_bytes([header[8], header[9]]));
            assert_eq!(header.len(), 10 + length);
            let dict = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': {text}, }}");
            let header = String::from_utf8_lossy(&header[10..]).into_owned();
            assert_eq!(header.trim_end(), dict);
            assert!(header.ends_with(" \n"));
        }
    }
}
