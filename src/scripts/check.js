// Asks `pte` about the files that a reader drops or chooses, and shows what it says. The command itself runs, as
// WebAssembly in a worker, which is loaded at the first file.

import { make } from './element.js';

const root = new URL('..', import.meta.url);
const CALLERS = [
    ['', 'anybody'],
    ['python', 'Python'],
    ['cpp', 'C++'],
    ['rust', 'Rust, crate executorch'],
    ['rust-device', 'Rust, crate executorch-device'],
];
const MARK = { error: '●', warning: '◐', note: '○' };

let worker;
/** The outcomes of the command for these arguments, in order. */
function ask(questions, files) {
    worker ??= new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    return new Promise((resolve, reject) => {
        const lost = reason => {
            worker.terminate();
            worker = undefined;
            reject(new Error(reason));
        };
        worker.onmessage = ({ data }) => (data.failed === undefined ? resolve(data.outcomes) : lost(data.failed));
        worker.onerror = event => lost(event.message || 'the worker could not be loaded');
        worker.postMessage({ questions, files });
    });
}

/** What the runtime answers and how that is known, as the command writes it. */
function answered({ at, code, text, origin, runtime }) {
    const number = code === null ? '' : ` answers 0x${code.toString(16).padStart(2, '0')}`;
    const known = {
        runtime: `ExecuTorch ${runtime}, measured`,
        'cuda-source': `CUDA delegate of ${runtime}, read in its source`,
        unverified: 'not verified',
    }[origin];
    return `${at}${number}${text && `: ${text}`} [${known}]`;
}

/** Texts without what differs between a log and a message: white space and case. */
const plain = text => text.toLowerCase().replace(/\s+/g, ' ').trim();

/** Whether an error that somebody pasted is what this finding foretells: its text, or its code as a word. */
function foretells({ answer }, pasted) {
    if (!answer || pasted === '') {
        return false;
    }
    const codes = (pasted.match(/0x:?[0-9a-f]+|\b\d+\b/g) ?? []).map(code => Number(code.replace(':', '')));
    return (answer.text !== '' && pasted.includes(plain(answer.text))) || codes.includes(answer.code ?? NaN);
}

function item(finding, mine) {
    const said = [];
    if (finding.answer) {
        said.push(make('dt', {}, 'What you get'), make('dd', {}, answered(finding.answer)));
    }
    if (finding.help) {
        said.push(make('dt', {}, 'The fix'), make('dd', {}, finding.help));
    }
    const where = finding.method === null ? '' : `${finding.method}: `;
    return make(
        'li',
        { class: `check-${finding.level}` },
        make('strong', {}, `${MARK[finding.level]} ${finding.level}${mine ? ', the one you have' : ''}`),
        make('p', {}, `${where}${finding.message}`),
        make('dl', {}, ...said),
        make('a', { href: new URL(finding.page, root) }, `Why: rule ${finding.rule}`),
    );
}

/** What the command says of one program. */
function report(shown, checked, pasted) {
    const parts = [];
    const errors = checked.stderr.trim() || shown.stderr.trim();
    if (errors) {
        parts.push(make('p', { class: 'check-failed' }, errors));
    }
    if (shown.stdout) {
        const [file] = checked.stdout ? JSON.parse(checked.stdout).files : [];
        const findings = file?.findings ?? [];
        const mine = findings.filter(finding => foretells(finding, pasted));
        if (pasted && mine.length === 0) {
            parts.push(make('p', {}, 'No finding foretells the error that you pasted. ',
                make('a', { href: new URL('when-it-fails/errors.html', root) }, 'Look it up in the error index.')));
        }
        const rest = findings.filter(finding => !mine.includes(finding));
        if (findings.length === 0 && !errors) {
            parts.push(make('p', {}, 'No rule finds anything.'));
        }
        parts.push(
            make('ul', { class: 'check-findings' },
                ...mine.map(finding => item(finding, true)), ...rest.map(finding => item(finding, false))),
            make('pre', {}, make('code', { tabindex: '0' }, shown.stdout)),
            make('details', {}, make('summary', {}, 'The findings as JSON'),
                make('pre', {}, make('code', { class: 'check-json', tabindex: '0' }, checked.stdout))),
        );
    }
    return parts;
}

for (const place of document.querySelectorAll('.check')) {
    const input = make('input', { type: 'file', multiple: '', accept: '.pte,.ptd' });
    const caller = make('select', {}, ...CALLERS.map(([value, name]) => make('option', { value }, name)));
    const error = make('textarea', { rows: '2', spellcheck: 'false' });
    const result = make('div', { class: 'check-result', 'aria-live': 'polite' });
    place.replaceChildren(
        make('label', {}, 'Drop a .pte here, with its .ptd if it has one, or choose it ', input),
        make('label', {}, 'Who calls it ', caller),
        make('label', {}, 'The error that you got, if you got one ', error),
        result,
    );

    let chosen = [];
    let asked = 0;
    const show = async () => {
        if (chosen.length === 0) {
            return;
        }
        asked += 1;
        const mine = asked;
        result.replaceChildren(make('p', {}, 'Reading…'));
        // A name that looks like an option is none, and `-` is no standard input here.
        const named = chosen.map(file => ({ file, name: file.name.startsWith('-') ? `./${file.name}` : file.name }));
        const isData = ({ name }) => name.endsWith('.ptd');
        const data = named.filter(isData).flatMap(({ name }) => [`--data=${name}`]);
        const programs = named.filter(file => !isData(file));
        // A data file alone: let the command say what it is.
        const files = programs.length > 0 ? programs : named;
        const options = ['--json', ...(caller.value ? [`--caller=${caller.value}`] : []), ...(programs.length > 0 ? data : [])];
        const questions = files.flatMap(({ name }) => [
            ['show', '--color=never', '--', name],
            ['check', ...options, '--', name],
        ]);
        let parts;
        try {
            const outcomes = await ask(questions, named);
            parts = files.flatMap((_, at) => report(outcomes[2 * at], outcomes[2 * at + 1], plain(error.value)));
        } catch (failed) {
            parts = [make('p', { class: 'check-failed' }, `error: pte cannot run here: ${failed.message}`)];
        }
        // Another question may have overtaken this one.
        if (mine === asked) {
            result.replaceChildren(...parts);
        }
    };
    const take = files => {
        chosen = [...files];
        show();
    };
    input.addEventListener('change', () => take(input.files));
    caller.addEventListener('change', show);
    error.addEventListener('input', show);
    place.addEventListener('dragover', event => {
        event.preventDefault();
        place.classList.add('check-over');
    });
    place.addEventListener('dragleave', () => place.classList.remove('check-over'));
    place.addEventListener('drop', event => {
        event.preventDefault();
        place.classList.remove('check-over');
        take(event.dataTransfer.files);
    });
}
