//! Elements as text, and back.

use half::{bf16, f16};
use std::fmt::Display;
use wgreduce::{DType, Element};

/// Calls a function with the Rust type of an element type.
macro_rules! by_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::BF16 => $function::<bf16>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            DType::F64 => $function::<f64>($($argument),*),
            DType::I8 => $function::<i8>($($argument),*),
            DType::I16 => $function::<i16>($($argument),*),
            DType::I32 => $function::<i32>($($argument),*),
            DType::I64 => $function::<i64>($($argument),*),
            DType::U8 => $function::<u8>($($argument),*),
            DType::U16 => $function::<u16>($($argument),*),
            DType::U32 => $function::<u32>($($argument),*),
            DType::U64 => $function::<u64>($($argument),*),
            _ => $function::<bool>($($argument),*),
        }
    };
}

/// An element that can be read from text.
trait Written: Element + Display {
    fn read(text: &str) -> Option<Self>;
}

macro_rules! written {
    ($($t:ty: $read:expr),*) => {$(
        impl Written for $t {
            fn read(text: &str) -> Option<Self> {
                let read: fn(&str) -> Option<$t> = $read;
                read(text)
            }
        }
    )*};
}
written!(
    // Rounded from f64.
    bf16: |t| t.parse().ok().map(bf16::from_f64),
    f16: |t| t.parse().ok().map(f16::from_f64),
    f32: |t| t.parse().ok(), f64: |t| t.parse().ok(),
    i8: |t| t.parse().ok(), i16: |t| t.parse().ok(), i32: |t| t.parse().ok(), i64: |t| t.parse().ok(),
    u8: |t| t.parse().ok(), u16: |t| t.parse().ok(), u32: |t| t.parse().ok(), u64: |t| t.parse().ok(),
    bool: |t| match t {
        "1" | "true" | "True" => Some(true),
        "0" | "false" | "False" => Some(false),
        _ => None,
    }
);

/// The bytes of elements that are separated by spaces, commas, semicolons or brackets.
pub fn parsed(dtype: DType, text: &str) -> Result<Vec<u8>, String> {
    by_type!(dtype, parsed_as(text))
}

fn parsed_as<T: Written>(text: &str) -> Result<Vec<u8>, String> {
    let apart = |c: char| c.is_whitespace() || ",;[]()".contains(c);
    let words = text.split(apart).filter(|word| !word.is_empty());
    let read = |word: &str| T::read(word).ok_or_else(|| format!("“{word}” is no {}", T::DTYPE));
    let elements: Vec<T> = words.map(read).collect::<Result<_, _>>()?;
    Ok(T::bytes(&elements).to_vec())
}

/// The first `most` elements, as text.
pub fn shown(dtype: DType, bytes: &[u8], most: usize) -> Vec<String> {
    by_type!(dtype, shown_as(bytes, most))
}

fn shown_as<T: Written>(bytes: &[u8], most: usize) -> Vec<String> {
    let end = bytes.len().min(most * size_of::<T>());
    let elements = T::from_bytes(&bytes[..end]);
    elements.iter().map(T::to_string).collect()
}
