// Looks up a configuration in matrix.json: what a program does for a caller, and what works where it does not. Every value
// comes from that file, which is loaded at the first question.

import { make } from './element.js';

const root = new URL('..', import.meta.url);

const SETTINGS = [
    ['h', 'skip_h2d_for_method_inputs'],
    ['d', 'skip_d2h_for_method_outputs'],
    ['i', 'alloc_graph_input'],
    ['o', 'alloc_graph_output'],
    ['n', 'enable_non_cpu_memory_planning'],
];
const DEFAULTS = 'h0d0_i1o1_n1';
/** What a reader chooses, in the order of a cell's name; the settings stand behind the program. */
const CHOICES = {
    program: ['The program', [
        ['static', 'one method, static shapes'],
        ['dynamic', 'one method, dynamic shapes'],
        ['two-encode', 'the method that a dict by method name names'],
        ['two-decode', 'a method that such a dict does not name'],
    ]],
    caller: ['Who calls it', [
        ['cpp', 'C++, Module'],
        ['rust', 'Rust, crate executorch-device'],
        ['rust-public', 'Rust, crate executorch'],
        ['python-load', 'Python, _load_for_executorch'],
        ['python-runtime', 'Python, executorch.runtime.Runtime'],
    ]],
    inputs: ['Your inputs', [
        ['host-tensor', 'on the host'],
        ['device-tensor', 'on the device'],
        ['device-as-cpu', 'on the device, tagged CPU'],
        ['host-as-cuda', 'on the host, tagged CUDA'],
    ]],
    output: ['The output', [
        ['no-set-output', 'as the call gives it'],
        ['clone-outputs-false', 'with clone_outputs=False (Python)'],
        ['set-output-device', 'set_output with device memory'],
        ['set-output-host', 'set_output with host memory'],
    ]],
};
const WANTED = ['You want the result', [
    ['', 'anywhere'],
    ['host', 'on the host'],
    ['device', 'on the device'],
]];
/** The page of each recipe: its settings, where `.` may be either. */
const RECIPES = [
    [/^h0d0_i.o1_n1$/, 'recipes/choose-a-recipe.html#host-in-host-out'],
    [/^h1d0_i0o1_n1$/, 'recipes/device-in-host-out.html'],
    [/^h0d1_i.o1_n1$/, 'recipes/device-in-host-out.html#the-mirror-host-in-device-out'],
    [/^h1d1_i0o1_n1$/, 'recipes/planned-output.html'],
    [/^h1d1_i0o0_n1$/, 'recipes/caller-output.html'],
];

let loading;
function matrix() {
    loading ??= fetch(new URL('reference/matrix.json', root)).then(response => {
        if (!response.ok) {
            loading = undefined;
            throw new Error(`matrix.json: ${response.status} ${response.statusText}`);
        }
        return response.json();
    });
    return loading;
}

const cell = ({ program, settings, caller, inputs, output }) => [program, settings, caller, inputs, output].join(' ');
const answerOf = (data, chosen) => data.answers[data.cells[cell(chosen)]];
const flags = settings => Object.fromEntries(SETTINGS.map(([letter]) => [letter, settings[settings.indexOf(letter) + 1]]));
const named = values => `h${values.h}d${values.d}_i${values.i}o${values.o}_n${values.n}`;
const ALL = [...Array(32).keys()].map(bits => named(Object.fromEntries(SETTINGS.map(([letter], at) => [letter, (bits >> at) & 1]))));

/** How many settings differ. */
function distance(one, other) {
    const [a, b] = [flags(one), flags(other)];
    return SETTINGS.filter(([letter]) => a[letter] !== b[letter]).length;
}

/** Whether both executions of a measured cell are right. */
const works = answer => answer.is === 'measured' && Object.values(answer.run).every(run => run.outcome === undefined || run.outcome === 'right');
const copies = ({ h2d, d2h }) => (h2d?.calls ?? 0) + (d2h?.calls ?? 0);

/** The cells of this program, caller and these inputs. `clone_outputs` is Python's alone. */
function cellsOf(data, chosen) {
    const outputs = CHOICES.output[1].map(([value]) => value);
    return ALL.flatMap(settings => outputs.map(output => ({ ...chosen, settings, output })))
        .filter(candidate => cell(candidate) in data.cells);
}

/** What works for this caller with these inputs, the nearest to the chosen settings first. */
function working(data, chosen, wanted) {
    const found = cellsOf(data, chosen)
        .map(candidate => ({ candidate, answer: answerOf(data, candidate) }))
        .filter(({ answer }) => works(answer) && (wanted === '' || answer.run.first.output.on === wanted));
    const order = ({ candidate, answer }) => [
        distance(candidate.settings, chosen.settings) + (candidate.output === chosen.output ? 0 : 1),
        copies(answer.run.first),
    ];
    return found.sort((one, other) => {
        const [a, b] = [order(one), order(other)];
        return a[0] - b[0] || a[1] - b[1];
    });
}

const bytes = ({ calls, bytes: count }) => `${calls} (${count} bytes)`;
const crossing = ({ h2d, d2h }) => `${h2d ? bytes(h2d) : 'none'} to the device, ${d2h ? bytes(d2h) : 'none'} to the host`;

/** One execution, as rows of a description. */
function rows(run) {
    const said = [];
    const row = (name, ...content) => said.push(make('dt', {}, name), make('dd', {}, ...content));
    const texts = (run.log ?? []).filter(({ origin }) => origin === 'runtime' || origin === 'library').map(({ text }) => text);
    if (run.outcome === 'right') {
        const whose = { caller: 'your own memory', runtime: "the runtime's buffer", fresh: 'memory of its own' }[run.output.of];
        row('The result', `right, on the ${run.output.on}, in ${whose}`);
        row('The inputs', run.inputs === 'as-they-are' ? 'the delegate reads them where they are' : 'the delegate reads copies');
        row('Copies', crossing(run));
    } else if (run.outcome === 'needs-a-gpu') {
        row('It needs a GPU', 'Without a driver: ', make('code', {}, run.exception ?? run.code));
    } else if (run.outcome === 'died') {
        row('The process dies', `by ${run.signal}, here, where device memory is fenced. On CUDA such an access is undefined.`);
    } else if (run.origin === 'stand-in') {
        row(`It fails at ${run.call}`, "Our stand-in refuses it. What CUDA answers was not measured.");
    } else {
        row(`It fails at ${run.call}`, make('code', {}, run.exception ?? run.code));
        for (const text of texts) {
            row('It logs', make('code', {}, text));
        }
    }
    return said;
}

/** What a cell says. */
function described(data, chosen) {
    const answer = answerOf(data, chosen);
    const program = data.programs[`${chosen.program} ${chosen.settings}`];
    const list = (...said) => make('dl', {}, ...said);
    if (answer.is === 'not-exported') {
        return [make('p', { class: 'explorer-outcome' }, 'The exporter refuses.'),
            list(make('dt', {}, program.refused.kind), make('dd', {}, make('code', {}, program.refused.message)))];
    }
    if (answer.is === 'not-applicable') {
        return [make('p', { class: 'explorer-outcome' }, `This caller cannot do it: ${answer.reason.replaceAll('`', '')}.`)];
    }
    const { arenas, inputs, outputs } = program.plan;
    const plan = [
        make('dt', {}, 'Planned'), make('dd', {}, arenas.map(arena => arena.replace(' ', ' bytes on ')).join(', ') || 'nothing'),
        make('dt', {}, 'The program has'), make('dd', {}, `inputs ${inputs.join(', ')}; outputs ${outputs.join(', ')}`),
    ];
    if (answer.is === 'depends-on-the-driver') {
        const branch = (name, run) => [make('dt', {}, name), make('dd', {}, list(...rows(run.first)))];
        return [make('p', { class: 'explorer-outcome' }, 'It depends on the driver: a copy meets a pointer on the wrong side.'),
            list(...plan, ...branch('If the driver refuses', answer.refuse), ...branch('If it accepts', answer.accept))];
    }
    const { first, second, second_overwrites_first: overwrites } = answer.run;
    const again = [];
    if (second && second.outcome !== first.outcome) {
        again.push(make('dt', {}, 'The second execution'), make('dd', {}, list(...rows(second))));
    } else if (overwrites !== undefined) {
        again.push(make('dt', {}, 'The next execution'), make('dd', {}, overwrites ? 'overwrites this result' : 'leaves this result as it is'));
    }
    const outcome = works(answer) ? 'It runs right, with our stand-in for a GPU.' : 'It does not run.';
    return [make('p', { class: 'explorer-outcome' }, outcome), list(...plan, ...rows(first), ...again)];
}

/** The settings as one paste. */
function recipe(settings) {
    const is = Object.fromEntries(Object.entries(flags(settings)).map(([letter, bit]) => [letter, bit === '1' ? 'True' : 'False']));
    return `ExecutorchBackendConfig(
    propagate_device_config=PropagateDeviceConfig(
        skip_h2d_for_method_inputs=${is.h},
        skip_d2h_for_method_outputs=${is.d},
    ),
    memory_planning_pass=MemoryPlanningPass(
        alloc_graph_input=${is.i},
        alloc_graph_output=${is.o},
    ),
    enable_non_cpu_memory_planning=${is.n},
)`;
}

/** Texts without what differs between a log and a message: white space and case. */
const plain = text => text.toLowerCase().replace(/\s+/g, ' ').trim();

/** Every text that the runtime or the exporter gives in a cell. */
function textsOf(data, chosen) {
    const answer = answerOf(data, chosen);
    if (answer.is === 'not-exported') {
        return [data.programs[`${chosen.program} ${chosen.settings}`].refused.message];
    }
    const runs = [answer.run, answer.refuse, answer.accept].filter(Boolean).flatMap(run => [run.first, run.second].filter(Boolean));
    return runs.flatMap(run => [
        run.exception, run.code,
        ...(run.log ?? []).filter(({ origin }) => origin !== 'stand-in').map(({ text }) => text),
    ]).filter(Boolean);
}

for (const place of document.querySelectorAll('.explorer')) {
    const select = (name, [label, options]) => {
        const element = make('select', { name }, ...options.map(([value, text]) => make('option', { value }, text)));
        return [element, make('label', {}, label, element)];
    };
    const controls = Object.entries(CHOICES).map(([name, choice]) => [name, ...select(name, choice)]);
    const [wanted, wantedLabel] = select('wanted', WANTED);
    const boxes = SETTINGS.map(([letter, name]) => [letter, make('input', { type: 'checkbox', name }), name]);
    const error = make('input', { type: 'search', spellcheck: 'false' });
    const result = make('div', { class: 'explorer-result', 'aria-live': 'polite' });
    place.replaceChildren(
        make('div', { class: 'explorer-choices' }, ...controls.map(([, , label]) => label), wantedLabel),
        make('fieldset', {}, make('legend', {}, 'The five settings'),
            ...boxes.map(([, box, name]) => make('label', {}, box, make('code', {}, name)))),
        make('label', {}, 'Or paste an error, and see which settings give it', error),
        result,
    );

    const chosen = () => ({
        ...Object.fromEntries(controls.map(([name, element]) => [name, element.value])),
        settings: named(Object.fromEntries(boxes.map(([letter, box]) => [letter, Number(box.checked)]))),
    });
    const choose = ({ settings, ...rest }) => {
        for (const [name, element] of controls) {
            element.value = rest[name];
        }
        const values = flags(settings);
        boxes.forEach(([letter, box]) => { box.checked = values[letter] === '1'; });
    };
    const address = (cell, more = {}) => `?${new URLSearchParams({ ...cell, ...more })}#${place.id}`;
    /** A link to a cell; the browser stays on the page. */
    const link = candidate => {
        const output = CHOICES.output[1].find(([value]) => value === candidate.output)[1];
        const text = candidate.output === 'no-set-output' ? '' : `, ${output}`;
        const element = make('a', { href: address(candidate, { wanted: wanted.value }) }, make('code', {}, candidate.settings), text);
        element.addEventListener('click', event => {
            if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
                event.preventDefault();
                choose(candidate);
                error.value = '';
                show();
            }
        });
        return element;
    };
    let asked = 0;
    const show = async () => {
        asked += 1;
        const mine = asked;
        let parts;
        let now;
        try {
            const data = await matrix();
            const output = place.querySelector('[name=output]');
            for (const option of output.options) {
                option.disabled = !(cell({ ...chosen(), output: option.value }) in data.cells);
            }
            if (output.selectedOptions[0].disabled) {
                output.value = 'no-set-output';
            }
            now = chosen();
            parts = error.value.trim() ? given(data, now) : found(data, now);
        } catch (failed) {
            parts = [make('p', {}, `error: the table cannot be loaded: ${failed.message}`)];
        }
        if (mine === asked) {
            result.replaceChildren(...parts);
            const more = { ...(wanted.value && { wanted: wanted.value }), ...(error.value.trim() && { error: error.value.trim() }) };
            if (now) {
                history.replaceState(null, '', address(now, more));
            }
        }
    };
    const found = (data, now) => {
        const parts = [...described(data, now)];
        const page = RECIPES.find(([settings]) => settings.test(now.settings));
        parts.push(make('pre', {}, make('code', { tabindex: '0' }, recipe(now.settings))));
        if (page && works(answerOf(data, now))) {
            parts.push(make('p', {}, make('a', { href: new URL(page[1], root) }, 'The recipe, with its code')));
        }
        const others = working(data, now, wanted.value).filter(({ candidate }) => cell(candidate) !== cell(now)).slice(0, 6);
        parts.push(make('p', {}, others.length > 0 ? 'What runs right for this caller with these inputs, the nearest first:' : 'Nothing else runs right for this caller with these inputs.'));
        parts.push(make('ul', { class: 'explorer-others' }, ...others.map(({ candidate, answer }) =>
            make('li', {}, link(candidate), `: on the ${answer.run.first.output.on}; copies: ${crossing(answer.run.first)}`))));
        return parts;
    };
    const given = (data, now) => {
        const pasted = plain(error.value);
        const isThat = text => text.startsWith('0x') ? pasted.split(/[^0-9a-fx:]+/).some(word => word.replace(':', '') === text) : pasted.includes(plain(text)) || plain(text).includes(pasted);
        const cells = cellsOf(data, now).filter(candidate => textsOf(data, candidate).some(isThat));
        if (cells.length === 0) {
            return [make('p', {}, 'No configuration gives that text to this caller with these inputs. ',
                make('a', { href: new URL('when-it-fails/errors.html', root) }, 'The index of errors'), ' has all of them.')];
        }
        return [make('p', {}, 'These give it to this caller with these inputs:'),
            make('ul', { class: 'explorer-others' }, ...cells.map(candidate => make('li', {}, link(candidate))))];
    };

    const parameters = new URLSearchParams(location.search);
    const start = { program: 'static', caller: 'cpp', inputs: 'device-tensor', output: 'no-set-output', settings: DEFAULTS };
    for (const [name, [, options]] of Object.entries(CHOICES)) {
        const value = parameters.get(name);
        if (options.some(([known]) => known === value)) {
            start[name] = value;
        }
    }
    if (ALL.includes(parameters.get('settings'))) {
        start.settings = parameters.get('settings');
    }
    choose(start);
    wanted.value = WANTED[1].some(([known]) => known === parameters.get('wanted')) ? parameters.get('wanted') : '';
    error.value = parameters.get('error') ?? '';
    place.addEventListener('change', show);
    error.addEventListener('input', show);
    if (parameters.has('caller')) {
        show();
    } else {
        const button = make('button', { type: 'button' }, 'Look it up');
        button.addEventListener('click', show);
        result.append(button);
    }
}
