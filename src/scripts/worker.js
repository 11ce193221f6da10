// The command `pte` on files that the reader chose. They are read here, a few small ranges of each, and sent nowhere.

const reader = new FileReaderSync();
const module = fetch(new URL('pte.wasm', import.meta.url), { cache: 'no-cache' })
    .then(response => {
        if (!response.ok) {
            throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
        }
        return response.arrayBuffer();
    })
    .then(bytes => WebAssembly.compile(bytes));

// An instance for each question: what one leaves in memory goes with it.
function ask(module, question, files) {
    const page = {
        read(file, offset, into, count) {
            try {
                const part = new Uint8Array(reader.readAsArrayBuffer(files[file].slice(offset, offset + count)));
                new Uint8Array(memory.buffer, into >>> 0, part.length).set(part);
                return part.length;
            } catch {
                return -1;
            }
        },
    };
    const { memory, allocate, run } = new WebAssembly.Instance(module, { page }).exports;
    const asked = new TextEncoder().encode(JSON.stringify(question));
    const at = allocate(asked.length);
    new Uint8Array(memory.buffer, at >>> 0, asked.length).set(asked);
    const answer = BigInt.asUintN(64, run(at, asked.length));
    const bytes = new Uint8Array(memory.buffer, Number(answer >> 32n), Number(answer & 0xffffffffn));
    return JSON.parse(new TextDecoder().decode(bytes));
}

addEventListener('message', async ({ data: { questions, files } }) => {
    try {
        const names = files.map(({ name, file }) => ({ name, bytes: file.size }));
        const compiled = await module;
        postMessage({
            outcomes: questions.map(question =>
                ask(compiled, { arguments: question, files: names }, files.map(({ file }) => file))),
        });
    } catch (error) {
        postMessage({ failed: String(error.message ?? error) });
    }
});
