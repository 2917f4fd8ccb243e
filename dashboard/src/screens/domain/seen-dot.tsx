import classes from './seen-dot.module.css'

/** Whether crawlers have come. The text beside it says so. */
export function SeenDot({ isSeen }: { isSeen: boolean }) {
  return <span className={classes.dot} data-seen={isSeen || undefined} aria-hidden />
}
