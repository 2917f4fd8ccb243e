import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../../test/support/condition.ts'
import {
  killTestProcesses,
  processesIn,
  removeDataDir,
  startTestProcess,
  testDataDir,
} from '../../../test/support/database-process.ts'
import { readPidFile } from './owner-lock.ts'

const dataDir = testDataDir()
const home = path.join(dataDir, 'postgres')
const data = path.join(home, 'data')
const gone = () => until('no process is left', () => processesIn(dataDir).length === 0, 5_000)

afterEach(killTestProcesses)
after(async () => {
  await gone()
  removeDataDir(dataDir)
})

describe('kill -9', () => {
  it('of us: PostgreSQL ends in order within seconds, what was committed is there at the next start', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    await node.query('create table kept (n integer primary key); insert into kept values (1)')
    await node.kill()
    await gone()
    assert(!existsSync(path.join(data, 'postmaster.pid')), 'it shut down, it did not just die')
    const next = startTestProcess(dataDir)
    await next.next('open')
    assert.deepEqual(await next.query('select n from kept'), [{ n: 1 }])
    await next.close()
  })

  it('of us, and a start in the same moment: PostgreSQL of the first does not hinder the second', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    const killed = node.kill()
    const next = startTestProcess(dataDir)
    // Still ours for an instant: refused is right then; once it is gone, the way is free.
    await killed
    const end = await next.nextEnd()
    if (end.event === 'refused') assert.match(end.message, /is in use by another Prepaint/)
    const again = end.event === 'refused' ? startTestProcess(dataDir) : next
    if (end.event === 'refused') await again.next('open')
    assert.deepEqual(await again.query('select n from kept'), [{ n: 1 }])
    await again.close()
  })

  it('of PostgreSQL, again and again: each time it is back, and the same pool goes on', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    await node.query('insert into kept values (2)')
    for (let round = 0; round < 3; round++) {
      const { pid } = readPidFile(data)!
      process.kill(pid, 'SIGKILL')
      await until('a new server is ready', () => isReadyAndNot(pid))
      const count = () => node.query('select count(*)::int as n from kept').catch(() => [])
      await until('the pool answers again', async () => (await count())[0]?.['n'] === 2)
    }
    await node.close()
  })

  it('of the watchdog: the server it leaves is replaced by a watched one', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    const { pid } = readPidFile(data)!
    process.kill(parentOf(pid), 'SIGKILL')
    await until('a new server is ready', () => isReadyAndNot(pid))
    await node.kill()
    await gone()
  })

  it('of us, of PostgreSQL and of its watchdog at once: the next start recovers', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    await node.query('insert into kept values (3)')
    const { pid } = readPidFile(data)!
    const watchdog = parentOf(pid)
    await node.kill()
    for (const victim of [watchdog, pid]) tryKill(victim)
    const next = startTestProcess(dataDir)
    await next.next('open')
    assert.deepEqual(await next.query('select n from kept where n = 3'), [{ n: 3 }])
    await next.close()
  })

  it('of us and of the watchdog: the orphan is stopped by the next start', async () => {
    const node = startTestProcess(dataDir)
    await node.next('open')
    const { pid } = readPidFile(data)!
    // Those of an earlier test may take an instant to leave.
    await until('there are the watchdog and its watcher', () => shells().length === 2)
    for (const watcher of shells()) tryKill(watcher)
    // Before the node can replace it.
    await node.kill()
    const next = startTestProcess(dataDir)
    await next.next('open')
    assert.notEqual(readPidFile(data)?.pid, pid)
    assert.deepEqual(await next.query('select n from kept where n = 1'), [{ n: 1 }])
    await next.close()
  })
})

describe('a stale postmaster.pid', () => {
  for (const whose of ['a living stranger', 'nobody']) {
    it(`with the pid of ${whose} is no obstacle, and the stranger lives on`, async (t) => {
      const stranger = spawn('sleep', ['60'], { stdio: 'ignore' })
      t.after(() => stranger.kill('SIGKILL'))
      const first = startTestProcess(dataDir)
      await first.next('open')
      const lines = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')
      await first.close()
      if (whose === 'nobody') {
        stranger.kill('SIGKILL')
        await until('the stranger is gone', () => stranger.signalCode !== null)
      }
      const stale = [String(stranger.pid), ...lines.slice(1)].join('\n')
      writeFileSync(path.join(data, 'postmaster.pid'), stale)
      writeFileSync(path.join(home, 'socket/.s.PGSQL.5432.lock'), stale)

      const next = startTestProcess(dataDir)
      await next.next('open')
      assert.deepEqual(await next.query('select n from kept where n = 1'), [{ n: 1 }])
      await next.close()
      if (whose !== 'nobody') assert.equal(stranger.signalCode, null)
    })
  }

  it('cut off in the middle is no obstacle', async () => {
    for (const rest of ['', '12']) {
      writeFileSync(path.join(data, 'postmaster.pid'), rest)
      const node = startTestProcess(dataDir)
      const end = await node.nextEnd()
      assert.equal(end.event, 'open', JSON.stringify(end))
      await node.close()
    }
  })
})

describe('kill -9 in the middle of the first start', () => {
  // From before initdb to after the first connection; initdb takes half a second and more.
  for (const afterMs of [0, 60, 150, 350, 700]) {
    it(`after ${afterMs} ms: the next start makes a whole database`, async () => {
      const fresh = testDataDir()
      const node = startTestProcess(fresh)
      await Promise.race([node.next('step'), node.next('open')])
      await sleep(afterMs)
      await node.kill()
      const next = startTestProcess(fresh)
      await next.next('open')
      await next.query('create table works (n integer)')
      await next.close()
      await until('no process is left', () => processesIn(fresh).length === 0, 5_000)
      assert.deepEqual(readdirSync(path.join(fresh, 'postgres')).sort(), ['data', 'owner.lock', 'socket'])
      removeDataDir(fresh)
    })
  }
})

function isReadyAndNot(pid: number): boolean {
  const file = readPidFile(data)
  return file?.ready === true && file.pid !== pid
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

function shells(): number[] {
  return processesIn(dataDir).filter((pid) => commandOf(pid).includes('prepaint-watchdog'))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
  }
}
