//! Fingerprints of inputs: parts of the same data have the same one, whichever machine read them.

use std::io;

use twox_hash::xxhash3_128::Hasher;

/// Bytes of a sample: whole elements of any type.
const BLOCK: u64 = 64;
/// The most samples, so that at most 16 KiB are read of however large a file.
const SAMPLES: u64 = 256;

/// The fingerprint of an input of so many bytes: a hash of its length and of samples of its elements, little
/// endian and in the order of the file. Up to 16 KiB the samples are the whole input. `read` fills a buffer from
/// a byte on.
pub fn of(
    bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut hasher = Hasher::with_seed(bytes);
    let mut block = [0; BLOCK as usize];
    for place in places(bytes) {
        let sample = &mut block[..(bytes - place).min(BLOCK) as usize];
        read(place, sample)?;
        hasher.write(sample);
    }
    Ok(format!("{:032x}", hasher.finish_128()))
}

/// Where the samples begin. The input is divided into equal stretches, and each has one at a place that the
/// length alone decides: at equal distances they could fall into the same columns of every row. The first
/// and the last bytes are always among them.
fn places(bytes: u64) -> impl Iterator<Item = u64> {
    let blocks = bytes.div_ceil(BLOCK);
    let count = blocks.min(SAMPLES);
    let stretch = move |i: u64| (u128::from(blocks) * u128::from(i) / u128::from(count)) as u64;
    (0..count).map(move |i| {
        let (begin, end) = (stretch(i), stretch(i + 1));
        let any = Hasher::oneshot_with_seed(bytes, &i.to_le_bytes()) as u64;
        let block = match i {
            0 => 0,
            _ if i + 1 == count => end - 1,
            _ => begin + any % (end - begin),
        };
        block * BLOCK
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn of_data(data: &[u8]) -> String {
        let read = |at: u64, into: &mut [u8]| {
            into.copy_from_slice(&data[at as usize..][..into.len()]);
            Ok(())
        };
        of(data.len() as u64, read).expect("nothing fails")
    }

    #[test]
    fn any_byte_of_a_small_input_counts() {
        for bytes in [1, 63, 64, 65, 1000, SAMPLES * BLOCK] {
            let mut data = vec![7; bytes as usize];
            let before = of_data(&data);
            for i in 0..data.len() {
                data[i] = 8;
                assert_ne!(of_data(&data), before, "byte {i} of {bytes}");
                data[i] = 7;
            }
        }
    }

    #[test]
    fn the_length_counts() {
        let all = (0..100_000).step_by(97).map(|n| of_data(&vec![0; n]));
        assert_eq!(all.collect::<BTreeSet<_>>().len(), 1031);
    }

    /// The ends, and one block in each stretch, wherever it begins.
    #[test]
    fn samples_are_spread_over_the_whole() {
        let large = [(1 << 40) + 3, 10_000_000_000_000, i64::MAX as u64];
        for bytes in [16_385, 1 << 20].into_iter().chain(large) {
            let places: Vec<u64> = places(bytes).collect();
            assert_eq!(places.len(), 256);
            assert_eq!(places[0], 0);
            assert_eq!(places[255], (bytes - 1) / BLOCK * BLOCK, "{bytes}");
            let most = 2 * (bytes / 256) + 2 * BLOCK;
            let distances = places.windows(2).map(|pair| pair[1] - pair[0]);
            let distances: BTreeSet<u64> = distances.collect();
            let right = distances.iter().all(|apart| (BLOCK..=most).contains(apart));
            assert!(right, "{bytes}: {distances:?}");
            let count = distances.len();
            assert!(bytes < 1 << 20 || count > 100, "{bytes}: {count}");
        }
    }

    /// Which share of the runs of so many bytes meet a sample.
    fn noticed(n: u64, run: u64) -> f64 {
        let places: Vec<u64> = places(n).collect();
        let meets = |begin: u64, place: u64| place < begin + run && begin < place + BLOCK;
        let is_hit = |begin: &u64| places.iter().any(|place| meets(*begin, *place));
        let begins = (0..n - run).step_by(997);
        let count = begins.clone().count() as f64;
        begins.filter(is_hit).count() as f64 / count
    }

    /// A changed run is noticed with the probability that docs/scale.md gives, and surely from n / 128 on.
    #[test]
    fn a_changed_run_is_noticed_as_often_as_it_is_said() {
        let n = 1u64 << 22;
        let stretch = n / 256;
        for run in [1000, stretch / 2, stretch * 9 / 10, stretch - 63] {
            // The places differ with the length: their average counts.
            let lengths = (0..16).map(|i| n + i * BLOCK);
            let share = lengths.map(|n| noticed(n, run)).sum::<f64>() / 16.0;
            let p = (run + 63) as f64 / stretch as f64;
            let said = p - p.powi(3) / 6.0;
            assert!((share - said).abs() < 0.01, "{run}: {share}, not {said}");
        }
        assert!(noticed(n, stretch * 3 / 2) < 1.0);
        assert_eq!(noticed(n, stretch * 2), 1.0);
    }
}
