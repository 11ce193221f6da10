// What mdBook's template leaves undone for the keyboard and for screen readers, done after mdBook's own script. Every page
// is complete without it.
'use strict';
{
    const byId = id => document.getElementById(id);

    // The sidebar's control is a <label>, which no keyboard reaches. A button takes its place on the screen and passes
    // the click on, so that mdBook's own handlers do the work; the label tells the state.
    const label = byId('mdbook-sidebar-toggle');
    const toggle = document.createElement('button');
    toggle.type = 'button';
    toggle.className = label.className;
    toggle.title = label.title;
    toggle.innerHTML = label.innerHTML;
    toggle.setAttribute('aria-label', 'Table of contents');
    toggle.setAttribute('aria-controls', 'mdbook-sidebar');
    toggle.addEventListener('click', () => label.click());
    const tellState = () => toggle.setAttribute('aria-expanded', label.getAttribute('aria-expanded'));
    new MutationObserver(tellState).observe(label, { attributeFilter: ['aria-expanded'] });
    tellState();
    label.hidden = true;
    label.before(toggle);

    // The first stop of the keyboard, before the sidebar's links.
    document.body.prepend(document.querySelector('.skip-link'));

    // Landmarks: one banner around the menu bar; its title is no heading of the page, and leads home.
    byId('mdbook-menu-bar').setAttribute('role', 'banner');
    byId('mdbook-search-wrapper')?.setAttribute('role', 'search');
    const searchbar = byId('mdbook-searchbar');
    searchbar?.setAttribute('aria-label', 'Search this book');
    // mdBook searches when a key goes up: a message pasted with the mouse would wait for one.
    searchbar?.addEventListener('input', () => searchbar.dispatchEvent(new Event('keyup')));
    const help = byId('mdbook-help-popup');
    help.setAttribute('role', 'dialog');
    help.setAttribute('aria-label', 'Keyboard shortcuts');
    const title = document.querySelector('.menu-title');
    title.setAttribute('role', 'none');
    const home = document.createElement('a');
    home.href = `${path_to_root}index.html`;
    home.textContent = title.textContent;
    title.replaceChildren(home);

    // Two colour schemes and the system's choice. A choice made on another mdBook of this host becomes the nearest.
    const nearest = { rust: 'light', coal: 'navy', ayu: 'navy' };
    for (const [theirs, ours] of Object.entries(nearest)) {
        if (document.documentElement.classList.contains(theirs)) {
            byId(`mdbook-theme-${ours}`).click();
        }
        byId(`mdbook-theme-${theirs}`)?.parentElement.remove();
    }
    byId('mdbook-theme-navy').textContent = 'Dark';

    // One program in several languages: tabs, and the language that was chosen last, on every page. A tab that is not shown
    // is still found, by a link into it and by the browser's search.
    const stored = 'guide-language';
    const groups = [...document.querySelectorAll('.tabs')].map((group, number) => {
        const list = document.createElement('div');
        list.className = 'tab-list';
        list.setAttribute('role', 'tablist');
        list.setAttribute('aria-label', 'Language');
        const panels = [...group.children];
        const tabs = panels.map((panel, place) => {
            const name = panel.firstElementChild;
            const tab = document.createElement('button');
            tab.type = 'button';
            tab.id = `tab-${number}-${place}`;
            tab.setAttribute('role', 'tab');
            tab.textContent = name.textContent;
            name.hidden = true;
            panel.id = `tab-panel-${number}-${place}`;
            panel.setAttribute('role', 'tabpanel');
            panel.setAttribute('aria-labelledby', tab.id);
            tab.setAttribute('aria-controls', panel.id);
            tab.addEventListener('click', () => choose(tab.textContent, tab));
            panel.addEventListener('beforematch', () => choose(tab.textContent));
            return tab;
        });
        list.append(...tabs);
        list.addEventListener('keydown', event => {
            const at = tabs.indexOf(event.target);
            const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
            if (to !== undefined) {
                const next = tabs.at(to % tabs.length);
                choose(next.textContent, next);
                next.focus();
                event.preventDefault();
                // To mdBook these keys turn the page.
                event.stopPropagation();
            }
        });
        group.prepend(list);
        return { tabs, panels };
    });
    const show = language => {
        for (const { tabs, panels } of groups) {
            const at = tabs.findIndex(tab => tab.textContent === language);
            tabs.forEach((tab, place) => {
                const shown = place === Math.max(at, 0);
                tab.setAttribute('aria-selected', shown);
                tab.tabIndex = shown ? 0 : -1;
                panels[place].hidden = shown ? false : 'until-found';
            });
        }
    };
    const choose = (language, tab) => {
        // Groups above change their height; what was chosen stays where it is.
        const before = tab?.getBoundingClientRect().top;
        show(language);
        if (tab) {
            scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
        }
        try {
            localStorage.setItem(stored, language);
        } catch { /* not kept where the reader forbids it */ }
    };
    let chosen = null;
    try {
        chosen = localStorage.getItem(stored);
    } catch { /* nor read */ }
    show(chosen);
    // The page was there before its tabs.
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    const panel = target?.closest('[role=tabpanel][hidden]');
    if (panel) {
        choose(byId(panel.getAttribute('aria-labelledby')).textContent);
        target.scrollIntoView();
    }

    // What scrolls sideways takes the focus, so that arrow keys scroll it; there they do not turn to the next page.
    const watch = new ResizeObserver(entries => {
        for (const { target } of entries) {
            if (target.scrollWidth > target.clientWidth) {
                target.tabIndex = 0;
            } else {
                target.removeAttribute('tabindex');
            }
        }
    });
    for (const region of document.querySelectorAll('pre > code, .table-wrapper')) {
        watch.observe(region);
        region.addEventListener('keydown', event => {
            if (region.tabIndex === 0 && event.target === region) {
                event.stopPropagation();
            }
        });
    }

    // A text of one line is a message: to be read whole.
    for (const text of document.querySelectorAll('pre > code.language-text')) {
        text.parentElement.classList.toggle('message', !text.textContent.trim().includes('\n'));
    }

    // Task lists: the text beside a box is its label.
    for (const box of document.querySelectorAll('main li > input[type="checkbox"]')) {
        box.setAttribute('aria-label', box.parentElement.textContent.trim());
    }

    // The way on names the pages it leads to, as the sidebar does.
    const pages = [...document.querySelectorAll('#mdbook-sidebar a:not(.on-this-page a)')];
    for (const link of document.querySelectorAll('.nav-wrapper > a')) {
        const page = pages.find(page => page.href === link.href);
        if (page) {
            const words = document.createElement('span');
            const kind = document.createElement('small');
            kind.textContent = link.rel.includes('prev') ? 'Previous' : 'Next';
            words.append(kind, page.textContent);
            link.append(words);
            link.removeAttribute('title');
            link.removeAttribute('aria-label');
        }
    }
}
