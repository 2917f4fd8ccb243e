import assert from 'node:assert/strict'
import { it } from 'node:test'

import { executableScripts, readableText } from './snapshot-text.ts'

it('finds the scripts that a browser would run, and only those', () => {
  const runs = [
    '<script>',
    '<script src="/a.js">',
    '<script type="module">',
    '<script type="text/javascript">',
    '<link rel="modulepreload" href="/a.js">',
    '<link rel="preload" as="script" href="/a.js">',
  ]
  const data = [
    '<script type="application/ld+json">',
    '<script type="text/x-template">',
    '<script type="importmap">',
    '<link rel="preload" as="font" href="/a.woff2">',
    '<link rel="stylesheet" href="/a.css">',
  ]
  assert.deepEqual(executableScripts([...runs, ...data].join('\n')), runs)
})

it('reads text and declarative shadow roots, not scripts, styles, comments and plain templates', () => {
  const html = `<p>one <b>two</b></p><script>three</script><style>four</style><!-- five -->
    <template><i>six</i></template>
    <x-y><template shadowrootmode="open"><style>seven</style>eight &amp; nine</template></x-y>`
  assert.equal(readableText(html).trim(), 'one two eight & nine')
})
