import classes from './wordmark.module.css'

export function Wordmark() {
  return (
    <span className={classes.wordmark}>
      <img src="/icon.svg" width={26} height={26} alt="" />
      Prepaint
    </span>
  )
}
