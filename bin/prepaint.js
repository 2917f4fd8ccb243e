#!/usr/bin/env node
// Plain JavaScript that any Node from 18 on can read: it finds a Node that runs
// the TypeScript source (24 or newer; `npm ci` brought one) and hands over.
import { spawnSync } from 'node:child_process'
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
  const child = spawnSync(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exit(child.status ?? 1)
}
