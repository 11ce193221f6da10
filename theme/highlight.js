// Colours for code, in place of mdBook's copy of highlight.js, which is more than half of what a first visit would load.
// book.js calls the two functions at the end. The classes are highlight.js' own; css/text.css has their colours.
'use strict';
const hljs = (() => {
    const words = list => `\\b(?:${list.trim().split(/\s+/).join('|')})\\b`;
    const quoted = '"(?:\\\\[^]|[^"\\\\])*"';
    const camel = '\\b[A-Z]\\w*[a-z]\\w*\\b';
    const number = '\\b(?:0[xob][\\da-f_]+|\\d[\\d_]*(?:\\.\\d[\\d_]*)?(?:e[+-]?\\d+)?)(?:[iu](?:8|16|32|64|size)|f32|f64)?\\b';

    // For each language what has a colour, as pairs of a class and a pattern. The first pattern that fits wins.
    const languages = {
        rust: [
            ['comment', '//.*|/\\*[^]*?\\*/'],
            ['meta', '#!?\\[[^\\]]*\\]'],
            ['string', `b?r#*"[^]*?"#*|[bc]?${quoted}|b?'(?:\\\\[^']+|[^'\\\\])'`],
            ['symbol', "'[a-z_]\\w*"],
            ['title', '(?<=\\bfn\\s+)\\w+|\\b\\w+!(?=[(\\[{])'],
            ['keyword', words(`as async await break const continue crate dyn else enum extern fn for if impl in let loop
                match mod move mut pub ref return self static struct super trait type unsafe use where while`)],
            ['literal', words('true false None Some Ok Err')],
            ['type', `${words('bool char str [iu](?:8|16|32|64|128|size) f32 f64')}|${camel}`],
            ['number', number],
        ],
        python: [
            ['comment', '#.*'],
            ['string', `[bfru]{0,2}(?:"""[^]*?"""|'''[^]*?'''|${quoted}|'(?:\\\\[^]|[^'\\\\\n])*')`],
            ['meta', '^\\s*@[\\w.]+'],
            ['title', '(?<=\\b(?:def|class)\\s+)\\w+'],
            ['keyword', words(`and as assert async await break class continue def del elif else except finally for from
                global if import in is lambda nonlocal not or pass raise return try while with yield`)],
            ['literal', words('True False None')],
            ['type', camel],
            ['number', number],
        ],
        cpp: [
            ['comment', '//.*|/\\*[^]*?\\*/'],
            ['meta', '^\\s*#.*'],
            ['string', `${quoted}|'(?:\\\\[^']+|[^'\\\\])'`],
            ['keyword', words(`auto break case catch class const constexpr continue default delete do else enum explicit
                extern for if inline namespace new noexcept nullptr operator override private protected public return
                sizeof static static_cast reinterpret_cast struct switch template this throw try typedef typename
                using virtual while`)],
            ['literal', words('true false')],
            ['type', `${words('bool char double float int long short size_t uint8_t int32_t int64_t unsigned void')}|${camel}`],
            ['number', number],
        ],
        toml: [
            ['comment', '#.*'],
            ['section', '^\\s*\\[.*\\]\\s*$'],
            ['attr', '^\\s*[\\w.-]+(?=\\s*=)|[\\w-]+(?=\\s*=\\s)'],
            ['string', `"""[^]*?"""|${quoted}|'[^'\n]*'`],
            ['literal', words('true false')],
            ['number', number],
        ],
        sh: [
            ['comment', '(?<![^\\s])#.*'],
            ['string', `${quoted}|'[^']*'`],
            ['symbol', '\\$(?:\\w+|\\{[^}]*\\})'],
            ['keyword', words('if then else elif fi for in do done while case esac export')],
        ],
        console: [
            ['meta', '^\\$(?= )'],
        ],
        json: [
            ['attr', `${quoted}(?=\\s*:)`],
            ['string', quoted],
            ['literal', words('true false null')],
            ['number', number],
        ],
    };
    languages.bash = languages.sh;

    const coloured = (text, rules) => {
        const pattern = new RegExp(rules.map(([, source]) => `(${source})`).join('|'), 'gm');
        const pieces = document.createDocumentFragment();
        let at = 0;
        for (const match of text.matchAll(pattern)) {
            const span = document.createElement('span');
            span.className = `hljs-${rules[match.findIndex((group, index) => index > 0 && group !== undefined) - 1][0]}`;
            span.textContent = match[0];
            pieces.append(text.slice(at, match.index), span);
            at = match.index + match[0].length;
        }
        pieces.append(text.slice(at));
        return pieces;
    };

    return {
        configure() {},
        highlightBlock(block) {
            const language = [...block.classList].find(name => name.startsWith('language-'))?.slice('language-'.length);
            const rules = languages[language];
            if (!rules) {
                return;
            }
            // By pieces of text: mdBook has put lines that it hides into elements of their own.
            const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
            const texts = [];
            while (walker.nextNode()) {
                texts.push(walker.currentNode);
            }
            for (const text of texts) {
                text.replaceWith(coloured(text.data, rules));
            }
        },
    };
})();
