//! `ModelProto`: a model that can be read can be run, or refuses its inputs.

use wgreduce::onnx::{Model, RunError, Tensor};
use wgreduce::{DType, reference};

/// Larger results are not computed: by broadcasting, a few bytes can ask for much.
const MOST: u64 = 1 << 16;

pub fn survive(data: &[u8]) {
    let Ok(model) = Model::decode(data) else {
        return;
    };
    let tensor = |dtype: DType, shape: &[u64]| {
        let bytes = shape.iter().product::<u64>() * dtype.size();
        Tensor::new(dtype, shape, vec![1; bytes as usize]).ok()
    };
    let matrix = tensor(DType::F32, &[2, 3]);
    let axes = Tensor::new(DType::I64, &[1], vec![0; 8]).ok();
    for inputs in [
        vec![],
        vec![matrix.clone()],
        vec![matrix.clone(), axes],
        vec![matrix; 3],
    ] {
        let outputs = model.run(&inputs, |problem, data| {
            let wanted = problem.outputs().into_iter().map(|o| o.bytes());
            match wanted.fold(0, u64::saturating_add) <= MOST {
                true => reference::evaluate(problem, data).map_err(Some),
                false => Err(None),
            }
        });
        match outputs {
            Ok(outputs) => assert_eq!(outputs.len(), model.outputs().len()),
            Err(RunError::Evaluate(Some(error))) => {
                panic!("a model posed a problem that its inputs do not fit: {error}")
            }
            Err(_) => {}
        }
    }
}
