/** Filters the list of sessions while one types, and keeps the address in step; nobody needs this script to filter. */
(() => {
  const [form] = document.forms;
  const rows = [...document.querySelectorAll('[data-text]')];
  const count = document.querySelector('[role=status]');
  const filter = () => {
    const [query, state] = [form.q.value, form.state.value];
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const { text, state: states } = row.dataset;
      const isShown = words.every((word) => text.includes(word)) && (!state || states.split(' ').includes(state));
      row.hidden = !isShown;
      if (isShown) shown += 1;
    }
    for (const section of document.querySelectorAll('section'))
      section.hidden = !section.querySelector('li:not([hidden])');
    const { all } = count.dataset;
    count.textContent = shown === rows.length ? all : `${shown.toLocaleString('en')} of ${all}`;
    const wanted = new URLSearchParams(Object.entries({ q: query, state }).filter(([, value]) => value));
    history.replaceState(null, '', `/${wanted.size > 0 ? `?${wanted}` : ''}`);
  };
  form.querySelector('button').hidden = true;
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', filter);
  // A browser that comes back to the page may have restored the fields.
  addEventListener('pageshow', filter);
})();
