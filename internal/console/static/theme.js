// The theme that was chosen, before anything is drawn. Without a choice the system's holds.
{
  let chosen = null;
  try { chosen = localStorage.getItem('haricot-theme'); } catch { /* storage is forbidden: the system's */ }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
}
