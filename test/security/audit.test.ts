/** What CI makes of the answers that `npm audit` can get. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openFolder } from '../support/folder.ts'

const AUDIT = path.resolve(import.meta.dirname, '../../.ci/audit')
const dir = openFolder()
const NONE = '{"auditReportVersion":2,"vulnerabilities":{}}'
const SOME = '{"auditReportVersion":2,"vulnerabilities":{"left-pad":{}}}'
const NOT_OFFERED = '{"message":"405 Method Not Allowed","error":{"summary":""}}'

for (const [what, answer, npmStatus, status, said] of [
  ['nothing is known: passes', NONE, 0, 0, /nothing is known/],
  ['something is known: fails, and shows it', SOME, 1, 1, /left-pad[\s\S]*weaknesses are known/],
  ['the registry does not offer it: passes, and says so', NOT_OFFERED, 1, 0, /nothing was looked up/],
] as const) {
  it(what, () => {
    const npm = `#!/bin/sh\ncat <<'END'\n${answer}\nEND\nexit ${npmStatus}\n`
    writeFileSync(path.join(dir, 'npm'), npm, { mode: 0o755 })
    const run = spawnSync(AUDIT, { env: { PATH: `${dir}:${process.env['PATH']}` }, encoding: 'utf8' })
    assert.equal(run.status, status)
    assert.match(run.stdout + run.stderr, said)
  })
}
