#!/usr/bin/env -S node --max-semi-space-size=16
// Plain JavaScript for Node 18 and later: runs Prepaint in Node 24 or later, which npm installs with it.
// In a checkout that is the TypeScript source; in the npm package, compiled JavaScript.
// V8 would let the young generation grow to 128 MiB, without being faster (docs/decisions/0065-memory-flags.md).
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const source = new URL('./prepaint.ts', import.meta.url)
const main = existsSync(source) ? source : new URL('../dist/bin/prepaint.js', import.meta.url)

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Before the first TypeScript: without its compiler, a node needs 20 MiB less (docs/decisions/0045-lighter.md).
  if (main === source)
    module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/prepaint', source)))
  await import(main.href)
} else {
  runIn(packagedNode())
}

function packagedNode() {
  const name = `node-${process.platform}-${process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const node = path.join(path.dirname(manifest), 'bin/node')
    if (existsSync(node)) return node
  } catch {}
  console.error(
    `prepaint needs Node 24 or newer, this is ${process.version}, and the package ${name} is not installed. ` +
      'Install again without --omit=optional ("npm ci" in a checkout), or install Node 24.',
  )
  process.exit(1)
}

/** @param {string} node */
function runIn(node) {
  // The child watches the channel, which closes if this process is killed.
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  // The process group already got Ctrl-C; a second signal would cut the child's drain short.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`prepaint: ${node} does not start: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
}
