// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.
import { Badge } from '@mantine/core'
import { count, counted } from '../format.ts'
import type { Stretch } from '../screens/page/differences.ts'
import classes from './lines.module.css'

export type Names = readonly [before: string, after: string]

export function Lines({ stretches, names }: { stretches: readonly Stretch[]; names: Names }) {
  return (
    <section className={classes.lines} tabIndex={0} aria-label={`${names[0]} and ${names[1]}`}>
      {stretches.map(({ kind, lines, count: all }, at) => {
        if (all === 0) return null
        if (kind === 'skipped') {
          return (
            <p key={`${at} skipped`} className={classes.skipped}>
              {counted(all, 'identical line')}
            </p>
          )
        }
        return (
          <div key={`${at} ${kind}`} className={classes[kind]}>
            {kind !== 'same' && (
              <Badge size="xs" color={kind === 'added' ? 'paint' : 'red'}>
                {kind === 'added' ? names[1] : names[0]}
              </Badge>
            )}
            {lines.map((line, row) => (
              // Lines can repeat and never move: the index is the key.
              <p key={row}>{line}</p>
            ))}
            {all > lines.length && <p className="quiet">and {count(all - lines.length)} more</p>}
          </div>
        )
      })}
    </section>
  )
}
