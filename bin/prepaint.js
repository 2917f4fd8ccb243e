#!/usr/bin/env node
// Plain JavaScript for Node 18 and later: runs the TypeScript source in Node 24 or later, which `npm ci` installs.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = new URL('./prepaint.ts', import.meta.url)

if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main.href)
} else {
  const node = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
  if (!existsSync(node)) {
    console.error(
      `prepaint needs Node 24 or newer, this is ${process.version}. Run "npm ci" first: it brings one.`,
    )
    process.exit(1)
  }
  // The child watches the channel, which closes if this process is killed.
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], {
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
