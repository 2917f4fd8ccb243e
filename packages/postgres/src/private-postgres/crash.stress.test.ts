import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../../../test/support/condition.ts'
import {
  openTestProcess,
  processesIn,
  startTestProcess,
  testDataDir,
} from '../../../../test/support/database-process.ts'
import { listProcesses, processesOf } from '../../../../test/support/processes.ts'
import { readPidFile } from './owner-lock.ts'

const dataDir = testDataDir()
const home = path.join(dataDir, 'postgres')
const data = path.join(home, 'data')
const gone = () => until('no process is left', () => processesIn(dataDir).length === 0, 5_000)

const open = () => openTestProcess(dataDir)
const serverPid = () => readPidFile(data)!.pid
const replaced = (pid: number) =>
  until('a new server is ready', () => readPidFile(data)?.ready === true && serverPid() !== pid)
const shells = () => processesOf(dataDir).filter(({ command }) => command.includes('prepaint-watchdog'))
const watchdogOf = (server: number) => listProcesses().find(({ pid }) => pid === server)!.parent

/** Opens the database, looks for a row in it, and closes it. */
async function hasKept(n: number): Promise<void> {
  const node = await open()
  assert.deepEqual(await node.query(`select n from kept where n = ${n}`), [{ n }])
  await node.close()
}

describe('kill -9', () => {
  it('of the node: PostgreSQL ends in order within seconds, what was committed is there at the next start', async () => {
    const node = await open()
    await node.query('create table kept (n integer primary key); insert into kept values (1)')
    await node.kill()
    await gone()
    assert(!existsSync(path.join(data, 'postmaster.pid')), 'it shut down, it did not just die')
    await hasKept(1)
  })

  it('of us, and a start in the same moment: PostgreSQL of the first does not hinder the second', async () => {
    const node = await open()
    const killed = node.kill()
    const next = startTestProcess(dataDir)
    // Still ours for an instant: refused is right then; once it is gone, the way is free.
    await killed
    const end = await next.nextEnd()
    if (end.event === 'refused') assert.match(end.message, /is in use by another Prepaint/)
    else await next.close()
    await hasKept(1)
  })

  it('of PostgreSQL, again and again: each time it is back, and the same pool goes on', async () => {
    const node = await open()
    await node.query('insert into kept values (2)')
    for (let round = 0; round < 3; round++) {
      const pid = serverPid()
      process.kill(pid, 'SIGKILL')
      await replaced(pid)
      const count = () => node.query('select count(*)::int as n from kept').catch(() => [])
      await until('the pool answers again', async () => (await count())[0]?.['n'] === 2)
    }
    await node.close()
  })

  it('of the watchdog: the server it leaves is replaced by a watched one', async () => {
    const node = await open()
    const pid = serverPid()
    process.kill(watchdogOf(pid), 'SIGKILL')
    await replaced(pid)
    await node.kill()
    await gone()
  })

  it('of us, of PostgreSQL and of its watchdog at once: the next start recovers', async () => {
    const node = await open()
    await node.query('insert into kept values (3)')
    const pid = serverPid()
    const watchdog = watchdogOf(pid)
    await node.kill()
    for (const victim of [watchdog, pid]) tryKill(victim)
    await hasKept(3)
  })

  it('of us and of the watchdog: the orphan is stopped by the next start', async () => {
    const node = await open()
    const pid = serverPid()
    // Those of an earlier test may take an instant to leave.
    await until('there are the watchdog and its watcher', () => shells().length === 2)
    for (const watcher of shells()) tryKill(watcher.pid)
    // Before the node can replace it.
    await node.kill()
    const next = await open()
    assert.notEqual(serverPid(), pid)
    assert.deepEqual(await next.query('select n from kept where n = 1'), [{ n: 1 }])
    await next.close()
  })
})

it('a stale postmaster.pid with the pid of a living stranger is no obstacle, and the stranger lives on', async (t) => {
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore' })
  t.after(() => stranger.kill('SIGKILL'))
  const first = await open()
  const lines = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')
  await first.close()
  const stale = [String(stranger.pid), ...lines.slice(1)].join('\n')
  writeFileSync(path.join(data, 'postmaster.pid'), stale)
  writeFileSync(path.join(home, 'socket/.s.PGSQL.5432.lock'), stale)
  await hasKept(1)
  assert.equal(stranger.signalCode, null)
})

it('a stale postmaster.pid cut off in the middle is no obstacle', async () => {
  for (const rest of ['', '12']) {
    writeFileSync(path.join(data, 'postmaster.pid'), rest)
    await hasKept(1)
  }
})

// From before initdb to after the first connection; initdb takes half a second and more.
for (const afterMs of [0, 60, 150, 350, 700]) {
  it(`kill -9 in the middle of the first start after ${afterMs} ms: the next start makes a whole database`, async () => {
    const fresh = testDataDir()
    const node = startTestProcess(fresh)
    await Promise.race([node.next('step'), node.next('open')])
    await sleep(afterMs)
    await node.kill()
    const next = await openTestProcess(fresh)
    await next.query('create table works (n integer)')
    await next.close()
    await until('no process is left', () => processesIn(fresh).length === 0, 5_000)
    assert.deepEqual(readdirSync(path.join(fresh, 'postgres')).sort(), ['data', 'owner.lock', 'socket'])
  })
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
  }
}
