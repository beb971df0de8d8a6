/** Work that takes its time: how far it is, and a way out. */
export const Progress = ({
  label,
  value,
  max,
  onCancel,
}: {
  label: string;
  value: number;
  max: number;
  onCancel: () => void;
}) => (
  <div class="progress">
    <progress value={value} max={Math.max(1, max)} aria-label={label} />
    <span>{label}</span>
    <button type="button" class="secondary small" onClick={onCancel}>
      Stop
    </button>
  </div>
);
