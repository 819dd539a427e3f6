// @ts-nocheck: runs in browsers, and is copied as it is.
// Searches the sections of all pages. Every word of the query must occur; titles count most.
const input = document.querySelector('input[type=search]');
const results = document.querySelector('.results');
const root = document.body.dataset.root;
const MOST = 20;

function score(section, words) {
  let total = 0;
  for (const word of words) {
    const title = section.title.toLowerCase();
    if (title === word) total += 20;
    else if (title.includes(word)) total += 8;
    else if (section.page.toLowerCase().includes(word)) total += 3;
    else if (section.text.toLowerCase().includes(word)) total += 1;
    else return 0;
  }
  return total;
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    words.length === 0
      ? []
      : window.searchIndex
          .map((section) => ({ section, points: score(section, words) }))
          .filter(({ points }) => points > 0)
          .sort((a, b) => b.points - a.points)
          .slice(0, MOST);
  results.replaceChildren(
    ...found.map(({ section }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = `${root}/${section.url}`;
      link.textContent = section.title;
      const page = document.createElement('small');
      page.textContent = section.page;
      item.append(link, page);
      return item;
    }),
  );
  results.hidden = found.length === 0;
}

input.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === 'Enter' && document.activeElement === input) results.querySelector('a')?.click();
});
