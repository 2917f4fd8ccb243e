import type { ReactNode } from 'react'
import classes from './tiles.module.css'

/** `change`: the difference to the time before. `isTrouble`: it is red. */
export type Tile = { name: string; value: ReactNode; change?: string; note?: ReactNode; isTrouble?: boolean }

/** The most important figures of a screen. */
export function Tiles({ tiles }: { tiles: readonly Tile[] }) {
  return (
    <dl className={`sheet sheet-flush ${classes.tiles}`}>
      {tiles.map(({ name, value, change = '', note, isTrouble = false }) => (
        <div key={name} className={classes.tile} data-trouble={isTrouble || undefined}>
          <dt>{name}</dt>
          <dd>
            <span className={classes.value}>{value}</span>
            {change !== '' && (
              <>
                <span className={classes.comma}>,</span> <span className={classes.change}>{change}</span>
              </>
            )}
            {note !== undefined && <span className={classes.note}>{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
