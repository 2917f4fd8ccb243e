/** An ordinary user's browser without a sandbox: what breaks out of it does not see the data directory. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it, type TestContext } from 'node:test'
import { ownUid } from '../../system-user.ts'
import { processesOfGroup } from '../browser/process-group.ts'
import { viewOf } from './confinement.ts'

type Told = { uid: number; said: string[]; pid?: number; hiding?: string[]; evaluated?: number } & Partial<
  Record<'sandbox' | 'data' | 'error', string>
>

/** Of its own, for its files get another owner; one for all, for unpacking the browser takes seconds. */
const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-view-'))
await chmod(dataDir, 0o711)
await mkdir(path.join(dataDir, 'postgres'), { mode: 0o700 })
await writeFile(path.join(dataDir, 'postgres', 'key'), 'secret-of-the-node', { mode: 0o600 })
after(() => rm(dataDir, { recursive: true, force: true }))

async function start(t: TestContext, home = process.env['HOME'] ?? ''): Promise<Told> {
  const main = path.join(import.meta.dirname, '../../../test/support/ordinary-user-main.ts')
  const child = spawn(process.execPath, [main, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HOME: home },
  })
  t.after(async () => {
    child.stdin.end()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const told = JSON.parse(line) as Told
  assert.notEqual(told.uid, 0)
  return told
}

function saysSo({ said }: Told): void {
  assert.match(said[0] ?? '', /without its sandbox/)
  assert.match(said[1] ?? '', /could read the data directory: start the node as root, or allow what hides it/)
  assert.match(said[1] ?? '', /sysctl kernel\.unprivileged_userns_clone=1/)
}

/** What ends with a script that is shown what the browser is shown. */
const INSIDE = `
  cat "${dataDir}/postgres/key"; ls "${dataDir}" "$HOME" /tmp
  touch "${dataDir}/chromium/new" && echo program-written
  touch "${dataDir}/browsers/new" && echo home-written
  umount "${dataDir}" && echo uncovered
  unshare --user --map-root-user --mount umount "${dataDir}" && echo uncovered
  for pid in /proc/[0-9]*; do cat $pid/root${dataDir}/postgres/key; done
  echo "processes: $(ls -d /proc/[0-9]* | wc -l)"
  grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status`

describe('a browser of an ordinary user', () => {
  it('whose sandbox cannot work sees nothing but its program and its own files, or the node says so', async (t) => {
    const told = await start(t)
    assert.deepEqual([told.error, told.sandbox, told.evaluated], [undefined, 'off', 42])
    const user = ownUid() === 0 ? { uid: told.uid, gid: told.uid } : {}
    const mount = ['--user', '--map-root-user', '--mount', 'true']
    const isAllowed = spawnSync('unshare', mount, user).status === 0
    assert.equal(told.data, isAllowed ? 'closed' : 'open')
    if (!isAllowed) return saysSo(told)
    assert.equal(told.said.length, 1)
    assert.match(told.said[0] ?? '', /without its sandbox/)
    assert(processesOfGroup(told.pid!).some(({ commandLine }) => commandLine.includes('--type=')))

    const [file = '', ...args] = [...told.hiding!, '/bin/sh', '-c', `exec 2>&1; ${INSIDE}`]
    const said = spawnSync(file, args, { ...user, encoding: 'utf8' }).stdout
    assert.doesNotMatch(said, /secret-of-the-node|program-written|uncovered/)
    assert.match(said, new RegExp(`^cat: '?${dataDir}/postgres/key'?: No such file`, 'm'))
    assert.match(said, /home-written/)
    // Only its own script: no other /proc/<pid>/root leads out.
    assert.match(said, /^processes: [1-9]$/m)
    for (const line of [/^CapEff:\s+0+$/m, /^CapBnd:\s+0+$/m, /^NoNewPrivs:\s+1$/m]) assert.match(said, line)
  })

  it('where it cannot be hidden: the node says what can be read, and what mends it', async (t) => {
    // Nothing can be laid over a file.
    const told = await start(t, '/etc/passwd')
    assert.equal(told.data, 'open')
    saysSo(told)
  })
})

it('what lies in a hidden directory is hidden with it, and a program elsewhere stays where it is', () => {
  const within = viewOf('/tmp/data', '/tmp/data/chromium/1/chromium', '/tmp/data/browsers')
  assert.equal(within.program, '/tmp/data/chromium')
  assert(within.hidden.includes('/tmp') && !within.hidden.includes('/tmp/data'))
  assert.equal(viewOf('/tmp/data', '/usr/bin/chromium', '/tmp/data/browsers').program, '/usr/bin')
})
