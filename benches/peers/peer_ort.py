"""ONNX Runtime on its CPU or its WebGPU execution provider.

The inputs are initializers, so that they lie on the device before anything is timed; the result
is read back within the time (the Python package offers no way to wait for the device without it).
"""

import argparse
import os
import platform

import onnxruntime as ort
from onnx import TensorProto, helper

import harness

TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}
PROVIDERS = {"cpu": "CPUExecutionProvider", "webgpu": "WebGpuExecutionProvider"}


def model(inputs, op, axes):
    source = TYPES[str(inputs[0].dtype)]
    names = [f"x{i}" for i in range(len(inputs))]
    target = source
    if op == "argmin":
        node = helper.make_node("ArgMin", names, ["y"], axis=axes[0], keepdims=0)
        target = TensorProto.INT64
    elif op == "reduce-min":
        node = helper.make_node("ReduceMin", names, ["y"], axes=list(axes), keepdims=0)
    elif op == "reduce-sum":
        # Axes are an input from opset 13 on.
        names.append("axes")
        node = helper.make_node("ReduceSum", names, ["y"], keepdims=0)
    else:
        node = helper.make_node("Min", names, ["y"])
    output = helper.make_tensor_value_info("y", target, None)
    tensor = lambda name, x: helper.make_tensor(name, source, x.shape, x.tobytes(), raw=True)
    tensors = [tensor(name, x) for name, x in zip(names, inputs)]
    if op == "reduce-sum":
        tensors.append(helper.make_tensor("axes", TensorProto.INT64, [len(axes)], list(axes)))
    graph = helper.make_graph([node], "peer", [], [output], tensors)
    # 13: the first opset with all these types whose axes are an attribute.
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


class OnnxRuntime:
    def __init__(self, which, lenient):
        self.provider = PROVIDERS[which]
        native = which == "cpu"
        self.name = f"ONNX Runtime {ort.__version__} {'CPU' if native else 'WebGPU'}"
        self.note = None if native else "each time includes reading the result back"
        if lenient and not native:
            self.note += "; it started with a library that reports features which the driver lacks (--lenient)"
        self.device = f"CPU ({platform.machine()})" if native else "the adapter that Dawn chooses"

    def prepare(self, inputs, op, axes):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        # The optimizer would compute the result of a constant while it loads the model.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self.provider != PROVIDERS["cpu"]:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        # The Python wrapper would fall back too, where the provider does not start.
        try:
            session = ort.InferenceSession(
                model(inputs, op, axes), options, providers=[self.provider], enable_fallback=0
            )
        except Exception as e:
            no_kernel = "NOT_IMPLEMENTED" in str(e) or "default CPU EP" in str(e)
            raise NotImplementedError("no kernel") if no_kernel else e
        call = lambda: session.run(None, {})[0]
        return call(), lambda: harness.wall(call)


def start(args):
    if PROVIDERS[args.provider] not in ort.get_available_providers():
        harness.say(f"missing: ONNX Runtime {args.provider} (not in the installed package)")
        return []
    peer = OnnxRuntime(args.provider, args.lenient)
    try:
        peer.prepare([harness.np.zeros((2, 3), "float32")], "argmin", (1,))
    except Exception as e:
        # What comes before is where in its sources a check failed.
        why = str(e).strip().splitlines()[0].split(" was false. ")[-1]
        harness.say(f"missing: {peer.name}: {why}")
        return []
    return [peer]


parser = argparse.ArgumentParser()
parser.add_argument("provider", choices=PROVIDERS)
parser.add_argument("--lenient", action="store_true", help="tell that webgpu runs over vulkan.c")
os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # Else Dawn's EGL complains on stderr.
harness.main(start, parser)
