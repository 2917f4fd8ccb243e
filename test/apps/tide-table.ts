import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { compile } from 'svelte/compiler'
import { build } from 'vite'
import { type App, html, json } from './app.ts'

/** Runes, a keyed list with transitions, a promise in the markup, a component that is imported when needed. */
const SOURCES = {
  'index.html': `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Tides</title></head>
  <body><script type="module" src="/main.js"></script></body>
</html>
`,
  'main.js': `import { mount } from 'svelte'
import Tides from './Tides.svelte'
mount(Tides, { target: document.body })
`,
  'Tides.svelte': `<script>
  import { fade } from 'svelte/transition'
  let tides = $state([])
  let highest = $derived(tides.toSorted((a, b) => b.metres - a.metres)[0])
  const advice = fetch('/advice.json').then((answer) => answer.json())
  $effect(() => {
    fetch('/tides.json').then((answer) => answer.json()).then((found) => { tides = found })
  })
  $effect(() => {
    if (highest) document.title = 'High water: ' + highest.metres.toFixed(1) + ' m'
  })
</script>

<h1>{tides.length} tides</h1>
<ul>
  {#each tides as tide (tide.at)}
    <li in:fade={{ delay: 200 }}>{tide.at}: {tide.metres.toFixed(2)} metres</li>
  {/each}
</ul>
{#if highest}
  {#await import('./Warning.svelte') then { default: Warning }}
    <Warning at={highest.at} />
  {/await}
{/if}
{#await advice}
  <p>asking the harbour master</p>
{:then { text }}
  <p>{text}</p>
{:catch}
  <p>the harbour master is out</p>
{/await}

<style>
  li { font-variant-numeric: tabular-nums }
</style>
`,
  'Warning.svelte': `<script>
  let { at } = $props()
</script>

<strong>The quay floods at {at}</strong>
`,
}

/** Built here from Svelte 5, as its users do; what is served is the output. `dir`: an empty folder to build in. */
export async function buildTideTable(dir: string): Promise<App> {
  const root = path.join(dir, 'tides')
  await mkdir(root, { recursive: true })
  for (const [name, text] of Object.entries(SOURCES)) await writeFile(path.join(root, name), text)
  const outDir = path.join(dir, 'tides-built')
  await build({
    root,
    configFile: false,
    logLevel: 'silent',
    build: { outDir },
    plugins: [
      {
        name: 'svelte',
        // The sources lie outside of this repository, and find its packages all the same.
        resolveId(id, importer) {
          return /^(svelte|clsx|esm-env|devalue)(\/|$)/.test(id) && importer?.startsWith(root)
            ? this.resolve(id, import.meta.filename)
            : null
        },
        transform: (code, id) =>
          id.endsWith('.svelte')
            ? compile(code, { filename: id, css: 'injected', generate: 'client' }).js
            : null,
      },
    ],
  })
  return {
    name: 'tide-table',
    framework: 'Svelte 5',
    folders: { '/': outDir },
    answers: {
      '/': html(await readFile(path.join(outDir, 'index.html'), 'utf8')),
      '/tides.json': json([
        { at: '04:12', metres: 3.1 },
        { at: '16:40', metres: 3.85 },
      ]),
      '/advice.json': json({ text: 'Moor with long lines tonight' }, 120),
    },
    pages: [
      {
        path: '/',
        texts: ['2 tides', '16:40: 3.85 metres', 'The quay floods at 16:40', 'Moor with long lines tonight'],
      },
    ],
  }
}
