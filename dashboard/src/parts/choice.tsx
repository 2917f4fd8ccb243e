import classes from './choice.module.css'

/** One of a few options, all of which are in sight. */
export function Choice<Name extends string>(props: {
  label: string
  options: readonly { name: Name; label: string }[]
  chosen: Name
  onChoose: (name: Name) => void
}) {
  return (
    <fieldset className={classes.choice}>
      <legend>{props.label}</legend>
      {props.options.map(({ name, label }) => (
        <label key={name}>
          <input
            type="radio"
            name={props.label}
            checked={name === props.chosen}
            onChange={() => props.onChoose(name)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}
