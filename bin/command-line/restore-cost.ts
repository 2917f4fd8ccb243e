import { statfsSync } from 'node:fs'

/** Rows that a restore stores in a second on two cores: bench/partitions.ts. */
const ROWS_A_SECOND = 5_000
const GIB = 1024 ** 3

type Stored = { rows: number; bytes: number }

/** Says how long a restore takes, and how much disk: `about 3 minutes and 1.2 GiB of disk`. */
export function restoreCost({ rows, bytes }: Stored): string {
  const minutes = rows / ROWS_A_SECOND / 60
  const time = minutes < 1 ? 'less than a minute' : `about ${timeText(minutes)}`
  return `${time} and ${gib(bytes)} of disk`
}

/** Says that the disk of a directory has no room for what a restore stores. Returns null if it has. */
export function missingSpace({ bytes }: Stored, dir: string): string | null {
  const { bavail, bsize } = statfsSync(dir)
  const free = bavail * bsize
  return free >= bytes ? null : `${dir} has only ${gib(free)} free`
}

function timeText(minutes: number): string {
  if (minutes < 90) return `${Math.ceil(minutes)} minutes`
  return `${(minutes / 60).toFixed(1)} hours`
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`
}
