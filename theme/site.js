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
