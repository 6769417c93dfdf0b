//! The bytes of tensors in memory, and the reordering that files need.
//!
//! Knows shapes and bytes; neither files nor operators.

use wgreduce::{DType, Output};

/// Bytes of a tensor, `None` where they exceed 64 bits.
pub fn byte_len(dtype: DType, shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut dims = shape.iter();
    dims.try_fold(dtype.size(), |bytes, &dim| bytes.checked_mul(dim))
}

/// Reverses the bytes of every element.
pub fn swap_bytes(data: &mut [u8], size: usize) {
    data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// From Fortran order, where the first index runs fastest, to C order.
pub fn from_fortran(data: Vec<u8>, shape: &[u64], size: usize) -> Vec<u8> {
    // Every dimension fits memory: the data is there.
    let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
    let Some((&last, outer)) = shape.split_last() else {
        return data;
    };
    if outer.is_empty() || data.is_empty() {
        return data;
    }
    let mut strides = vec![size; shape.len()];
    for dim in 1..shape.len() {
        strides[dim] = strides[dim - 1] * shape[dim - 1];
    }
    let mut result = Vec::with_capacity(data.len());
    let mut index = vec![0; outer.len()];
    while result.len() < data.len() {
        let row: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        for column in 0..last {
            let at = row + column * strides[outer.len()];
            result.extend_from_slice(&data[at..at + size]);
        }
        advance(&mut index, outer);
    }
    result
}

/// The next index in C order; after the last one, the first.
fn advance(index: &mut [usize], shape: &[usize]) {
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < size {
            return;
        }
        *i = 0;
    }
}

/// Whether the outputs fit in memory. Checked before they are computed, because running out of memory later
/// would abort the process.
pub fn fits_memory(outputs: &[Output]) -> bool {
    let bytes = outputs.iter().map(Output::bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    match usize::try_from(bytes) {
        Ok(bytes) => Vec::<u8>::new().try_reserve_exact(bytes).is_ok(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_becomes_c_order() {
        // The matrix [[0, 1, 2], [3, 4, 5]], column by column.
        let columns = vec![0, 3, 1, 4, 2, 5];
        assert_eq!(from_fortran(columns, &[2, 3], 1), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn fortran_order_of_three_dimensions_keeps_elements_whole() {
        let shape = [2usize, 3, 4];
        let element = |i: usize, j: usize, k: usize| [i as u8, (10 * j + k) as u8];
        let mut fortran = Vec::new();
        for (k, j, i) in triples(shape[2], shape[1], shape[0]) {
            fortran.extend(element(i, j, k));
        }
        let mut c = Vec::new();
        for (i, j, k) in triples(shape[0], shape[1], shape[2]) {
            c.extend(element(i, j, k));
        }
        assert_eq!(from_fortran(fortran, &[2, 3, 4], 2), c);
    }

    fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..a).flat_map(move |x| (0..b).flat_map(move |y| (0..c).map(move |z| (x, y, z))))
    }

    #[test]
    fn byte_lengths_do_not_wrap() {
        assert_eq!(byte_len(DType::F32, &[]), Some(4));
        assert_eq!(byte_len(DType::F32, &[u64::MAX, 2, 0]), Some(0));
        assert_eq!(byte_len(DType::F32, &[1 << 62]), None);
    }
}
