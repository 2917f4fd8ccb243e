import classes from './live-figures.module.css'
import { useLiveState } from './state.ts'

/** Says, quietly, whether figures follow by themselves. */
export function LiveMark() {
  const state = useLiveState()
  const isLost = state === 'lost'
  return (
    <p className={classes.mark} data-state={state} role="status">
      {isLost ? 'Not live: asked for every 15 s' : state === 'live' ? 'Live' : ''}
    </p>
  )
}
