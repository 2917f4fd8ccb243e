import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { renderersOfGroup } from './process-group.ts'

it('pages that a zygote has begun since the last look are found, those that have ended are not', async (t) => {
  // One more for each line that it is told, called what Chromium calls its pages.
  const page = `sh -c 'echo $$; read nothing' sh $PAGE <&3`
  const zygote = spawn(
    '/bin/sh',
    ['-c', `exec 3<&0; echo; while read line <&3; do ${page}; done`, 'sh', '--type=zygote'],
    { detached: true, env: { PATH: '/usr/bin:/bin', PAGE: '--type=renderer' } },
  )
  t.after(() => process.kill(-zygote.pid!, 'SIGKILL'))
  await once(zygote.stdout, 'data')
  const renderers = renderersOfGroup(zygote.pid!)
  assert.deepEqual(renderers(), [])
  // Two looks at all processes are further apart than this.
  for (let round = 0; round < 3; round++) {
    zygote.stdin.write('another\n')
    const [told] = await once(zygote.stdout, 'data')
    assert.deepEqual(renderers(), [Number(String(told))])
    const pid = Number(String(told))
    process.kill(pid, 'SIGKILL')
    await until('it is gone', () => !renderers().includes(pid))
  }
  assert.deepEqual(renderers(), [])
})

it('pages without a zygote are found now and then', async (t) => {
  const alone = spawn('/bin/sh', ['-c', 'echo; read nothing', 'sh', '--type=renderer'], { detached: true })
  t.after(() => alone.kill('SIGKILL'))
  await once(alone.stdout, 'data')
  assert.deepEqual(renderersOfGroup(alone.pid!)(), [alone.pid])
})
