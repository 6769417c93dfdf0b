//! The memory of streams.

use super::reducer;
use wgreduce::{Caps, DType, Error, NanPolicy, Problem, ProblemError};

/// Rows and columns, scattered axes, views, values and sums of several formats of partial results.
fn problems() -> Result<Vec<Problem>, ProblemError> {
    use DType::{BF16, F16, F32, F64, I64, U8};
    Ok(vec![
        Problem::reduce_sum(F32, &[4, 100_000], &[1])?.nan(NanPolicy::Ignore),
        Problem::reduce_mean(F64, &[3, 70, 90], &[1])?.nan(NanPolicy::Ignore),
        Problem::reduce_l2(BF16, &[40, 300], &[0])?,
        Problem::reduce_sum(I64, &[50_000], &[])?,
        Problem::reduce_min(F64, &[4, 900, 5], &[0, 2])?,
        Problem::reduce_max(U8, &[3], &[])?,
        Problem::arg_max(F16, &[300, 7], 0)?.with_values(true),
        Problem::arg_min(F32, &[300, 100], 1)?.strided(0, &[1, 300], 0),
        Problem::extremes(F32, &[9, 7000], 1)?,
        Problem::min(F32, &[[600, 50], [1, 50], [600, 1]])?,
        Problem::max(U8, &[[50_000]])?,
    ])
}

#[test]
fn a_refused_stream_names_a_memory_that_is_accepted() {
    let device = reducer();
    for alignment in [256, 1024, 1 << 16] {
        let reducer = device.with_caps(Caps {
            offset_alignment: alignment,
            ..device.caps().clone()
        });
        let mut refusals = 0;
        for problem in problems().expect("problems") {
            for memory in [0, 1000, 3000, 200_000] {
                let needed = match reducer.stream_blocking(&problem, memory) {
                    Ok(stream) => {
                        assert!(stream.memory() <= memory);
                        continue;
                    }
                    Err(Error::Limit {
                        what: "memory of a stream",
                        needed,
                        limit,
                    }) => {
                        assert_eq!(limit, memory);
                        needed
                    }
                    Err(error) => panic!("{problem}, {alignment}, {memory}: {error}"),
                };
                assert!(needed > memory);
                let stream = reducer.stream_blocking(&problem, needed);
                let stream = stream.unwrap_or_else(|e| panic!("{problem}, {alignment}: {e}"));
                assert!(stream.memory() <= needed);
                refusals += 1;
            }
        }
        assert!(refusals > 12, "{alignment}: {refusals}");
    }
}
