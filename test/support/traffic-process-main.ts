import type { DomainId } from '@prepaint/contract/ids.ts'
import { createPool } from '@prepaint/postgres/database.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { foldMinutes } from '@prepaint/service/insight/traffic/fold.ts'
import { startTestTraffic } from './traffic.ts'

// Counts five visits of a domain and writes them, or adds up what is written. Says when it begins or has written, and
// waits to be killed: `startTrafficProcess` of traffic.ts.

const [connectionString = '', domain = '', step = ''] = process.argv.slice(2)
const pool = createPool({ connectionString }, silentLog())
if (step === 'flush') {
  const traffic = startTestTraffic(pool)
  for (let visit = 0; visit < 5; visit++) traffic.visit(Number(domain) as DomainId, { path: '/' })
  await traffic.flush()
  process.stdout.write('ready\n')
} else {
  process.stdout.write('ready\n')
  await foldMinutes(pool)
}
setInterval(() => {}, 60_000)
