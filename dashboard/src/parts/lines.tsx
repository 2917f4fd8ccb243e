// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.
import { Badge } from '@mantine/core'
import { count, counted } from '../format.ts'
import type { Stretch } from '../screens/page/differences.ts'
import classes from './lines.module.css'

export type Names = readonly [before: string, after: string]

/** Two texts as one, with a mark at the lines that only one of them has. `of` tells several on a screen apart. */
export function Lines(props: { stretches: readonly Stretch[]; names: Names; of?: string }) {
  const { stretches, names, of } = props
  const label = `${names[0]} and ${names[1]}`
  return (
    <section className={classes.lines} tabIndex={0} aria-label={of === undefined ? label : `${of}: ${label}`}>
      {stretches.map((stretch, at) =>
        stretch.count === 0 ? null : (
          <StretchLines key={`${at} ${stretch.kind}`} stretch={stretch} names={names} />
        ),
      )}
    </section>
  )
}

function StretchLines({ stretch: { kind, lines, count: all }, names }: { stretch: Stretch; names: Names }) {
  if (kind === 'skipped') return <p className={classes.skipped}>{counted(all, 'identical line')}</p>
  return (
    <div className={classes[kind]}>
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
}
