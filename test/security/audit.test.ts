/** What CI makes of the answers that `npm audit` can get. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openFolder } from '../support/folder.ts'

const AUDIT = path.resolve(import.meta.dirname, '../../.ci/audit')
const dir = openFolder()

/** `.ci/audit` with an npm that answers so. */
function audit(answer: string, status: number) {
  writeFileSync(path.join(dir, 'npm'), `#!/bin/sh\ncat <<'END'\n${answer}\nEND\nexit ${status}\n`)
  chmodSync(path.join(dir, 'npm'), 0o755)
  const run = spawnSync(AUDIT, { env: { PATH: `${dir}:${process.env['PATH']}` }, encoding: 'utf8' })
  return { status: run.status, said: run.stdout + run.stderr }
}

it('nothing is known: passes', () => {
  const { status, said } = audit('{"auditReportVersion":2,"vulnerabilities":{}}', 0)
  assert.equal(status, 0)
  assert.match(said, /nothing is known/)
})

it('something is known: fails, and shows it', () => {
  const { status, said } = audit('{"auditReportVersion":2,"vulnerabilities":{"left-pad":{}}}', 1)
  assert.equal(status, 1)
  assert.match(said, /left-pad[\s\S]*weaknesses are known/)
})

it('the registry does not offer it: passes, and says that nothing was looked up', () => {
  const { status, said } = audit('{"message":"405 Method Not Allowed","error":{"summary":""}}', 1)
  assert.equal(status, 0)
  assert.match(said, /does not offer it; nothing was looked up/)
})
