//! What a plan must compute, element by element, found without the plan.

use support::oracle::coordinates;
use support::views::position;
use wgreduce::Problem;

/// The right answer: for each input element, its output and its place in the segment.
///
/// In a view, one element of the data may be several elements of the input. Then the element of the data competes for
/// an output, with its place if the problem asks for an index.
pub struct Truth {
    pub output: Vec<u32>,
    pub place: Vec<u32>,
    /// For each input element its element of the data, and the number of the data's elements; `None` for a tensor in C
    /// order.
    pub view: Option<(Vec<u32>, u32)>,
    /// For each output and place the element of the data.
    pub found: Vec<u32>,
    pub outputs: usize,
    pub len: u64,
    /// Whether the problem is elementwise, on several inputs.
    pub zips: bool,
    /// The number of elements before each input, and of all.
    pub starts: Vec<u32>,
    /// For each output the input elements that compete for it; for an elementwise problem one element of each input,
    /// counted through all inputs.
    pub expected: Vec<Vec<u32>>,
}

/// The output of an input element in C order, and its place in the segment.
pub fn output_and_place(shape: &[u64], reduced: impl Fn(usize) -> bool, flat: u64) -> (u64, u64) {
    let (mut rest, mut output, mut place) = (flat, (0, 1), (0, 1));
    for (d, &size) in shape.iter().enumerate().rev() {
        let at = if reduced(d) { &mut place } else { &mut output };
        *at = (at.0 + rest % size * at.1, at.1 * size);
        rest /= size;
    }
    (output.0, place.0)
}

impl Truth {
    pub fn new(problem: &Problem) -> Truth {
        let zips = problem.op().is_elementwise() && !problem.is_copy();
        let shape = &problem.inputs()[0];
        let n: u64 = if zips { 0 } else { shape.iter().product() };
        let reduced = |d: usize| !problem.is_copy() && problem.reduced().get(d) == Some(&true);
        let walk = |flat| {
            let (output, place) = output_and_place(shape, reduced, flat);
            (output as u32, place as u32)
        };
        let (output, place): (Vec<u32>, _) = (0..n).map(walk).unzip();
        let outputs = problem.outputs()[0].shape.iter().product::<u64>() as usize;
        let copied = problem.is_copy();
        let len = if copied { 1 } else { problem.reduced_len() };
        let mut starts = vec![0];
        for i in 0..problem.inputs().len() {
            let elements = problem.input_bytes(i) / problem.dtype().size();
            starts.push(starts[starts.len() - 1] + elements as u32);
        }
        let view = problem.layout(0).filter(|_| !zips).map(|layout| {
            let lies =
                (0..n).map(|flat| position(flat, shape, &layout.strides, layout.offset) as u32);
            (lies.collect(), starts[1])
        });
        let mut expected = match zips {
            true => broadcast(problem),
            false => vec![Vec::new(); outputs],
        };
        let mut truth = Truth {
            found: vec![0; outputs * len.min(n) as usize],
            view,
            output,
            place,
            outputs,
            len,
            zips,
            starts,
            expected: Vec::new(),
        };
        let index = problem.op().is_index();
        for (flat, (&output, &place)) in truth.output.iter().zip(&truth.place).enumerate() {
            let element = truth.view.as_ref().map_or(flat as u32, |(v, _)| v[flat]);
            truth.found[output as usize * len as usize + place as usize] = element;
            expected[output as usize].push(truth.id(element, if index { place } else { 0 }));
        }
        // A sum takes an element as often as the view repeats it.
        let once = !zips && !problem.op().is_sum();
        expected.iter_mut().filter(|_| !zips).for_each(|ids| {
            ids.sort_unstable();
            if once {
                ids.dedup();
            }
        });
        truth.expected = expected;
        truth
    }

    /// The id of a competitor: an element of the data, and in a view also its place.
    pub fn id(&self, element: u32, place: u32) -> u32 {
        match &self.view {
            None => element,
            Some((_, data)) => element + place * data,
        }
    }

    /// The element of the data at a place of an output's segment.
    pub fn at(&self, output: u32, place: u64) -> u32 {
        self.found[output as usize * self.len as usize + place as usize]
    }

    /// Whether each output's segment repeats one element: then only the first or the last place wins.
    pub fn repeats(&self) -> bool {
        let segments = self.found.chunks(self.len.max(1) as usize);
        segments.into_iter().all(|s| s.iter().all(|e| *e == s[0]))
    }
}

/// Broadcasting as ONNX defines it, coordinate by coordinate.
fn broadcast(problem: &Problem) -> Vec<Vec<u32>> {
    let output = &problem.outputs()[0].shape;
    let of = |coordinates: Vec<u64>| {
        let mut before = 0;
        let element = |(i, shape): (usize, &Vec<u64>)| {
            let own = &coordinates[output.len() - shape.len()..];
            let place = |at: u64, (&c, &size): (&u64, &u64)| at * size + c.min(size - 1);
            let flat = own.iter().zip(shape).fold(0, place);
            let element = before
                + problem.layout(i).map_or(flat as u32, |layout| {
                    position(flat, shape, &layout.strides, layout.offset) as u32
                });
            before += (problem.input_bytes(i) / problem.dtype().size()) as u32;
            element
        };
        problem.inputs().iter().enumerate().map(element).collect()
    };
    coordinates(output).map(of).collect()
}
