// Compiles WGSL with Tint, for a device that has WebGPU's default limits and no hardware.
// Reads a list of {label, text, pipelines: [overrides]} and prints what is refused, and the counts.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { create, globals } = createRequire(process.env.COMPILERS + '/')('webgpu');
Object.assign(globalThis, globals);
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
// Dawn's objects must outlive what is made of them: nothing is collected.
globalThis.kept = [gpu, adapter, device];
device.addEventListener('uncapturederror', (event) => event.preventDefault());

let [modules, pipelines] = [0, 0];
const refused = (label, what) => console.log(`${label}: ${what.replaceAll('\n', ' ').slice(0, 600)}`);
for (const { label, text, pipelines: all } of JSON.parse(readFileSync(0, 'utf8'))) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: text });
  const error = await device.popErrorScope();
  const { messages } = await module.getCompilationInfo();
  const told = messages.filter((m) => m.type !== 'info');
  if (error || told.length) {
    refused(label, error?.message ?? told.map((m) => `line ${m.lineNum}: ${m.message}`).join('; '));
    continue;
  }
  modules += 1;
  for (const constants of all) {
    device.pushErrorScope('validation');
    device.createComputePipeline({ layout: 'auto', compute: { module, constants } });
    const error = await device.popErrorScope();
    if (error) refused(`${label} ${JSON.stringify(constants)}`, error.message);
    else pipelines += 1;
  }
}
console.log(`${modules} modules, ${pipelines} pipelines`);
process.exit(0);
