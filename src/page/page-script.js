document.body.classList.add('has-script');
